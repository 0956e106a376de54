//! Errors without personal data.

use expect_test::expect;
use proptest::prelude::*;
use stepwell_dialects::workspaces::redact::{CODE_CHARS_MAX, MESSAGE_CHARS_MAX, code, message};

/// Texts as workers write them, each with something that must not be shown, or nothing at all.
const CORPUS: &str = r#"
connection to 10.12.0.7:5432 refused after 3 attempts
no route to fe80::1ff:fe23:4567:890a, gateway 00:1a:2b:3c:4d:5e
message from fe80::da@example.org bounced
user ada.lovelace@example.org not found
<mailto:ada+spam@sub.example.co.uk> bounced with 550 5.1.1
retry for ADA%40EXAMPLE.ORG failed, see @ada
call +49 (0)170 123-4567 or 0043 664 12 34 567
card 4111 1111 1111 1111 declined, iban DE89 3704 0044 0532 0130 00
born 1815-12-10, ssn 078-05-1120
GET https://ada:pa55@api.example.org/v1/people/7?name=Ada&token=abc#top returned 404
Authorization: Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc
basic YWRhOmxvdmVsYWNl was refused
password=hunter2, retries=3
api_key: sk_live_51H8abcDEFghi, region: eu-west-1
user name: Ada Lovelace; step: write
column "email" of 'customers' holds „Ada Lovelace“
can't open the user's file
unclosed "Ada Love
object 4bf92f35-77b3-4da6-a3ce-929d0e0e4736 is gone
digest 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 differs
timeout after 30 s in step write_transcript_to_storage (attempt 2 of 5)
HTTP 503 from https://api.example.org/v1/jobs at 12:30:45
disk full: 0 of 500 GB left
"#;

#[test]
fn what_is_personal_is_masked_and_the_rest_can_still_be_read() {
    // C-013
    let shown: Vec<String> = CORPUS.trim().lines().map(message).collect();
    expect![[r#"
        connection to [address]:5432 refused after 3 attempts
        no route to [address], gateway [address]
        message from [address][email] bounced
        user [email] not found
        <mailto:[email]> bounced with [number]
        retry for [email] failed, see [email]
        call [number] or [number]
        card [number] declined, iban DE[number]
        born [number], ssn [number]
        GET https://api.example.org/v1/people/7?[query] returned 404
        Authorization: [secret]
        basic [secret] was refused
        password=[secret], retries=3
        api_key: [secret], region: eu-west-1
        user name: [value]; step: write
        column "…" of '…' holds „…“
        can't open the user's file
        unclosed "…
        object [id] is gone
        digest [id] differs
        timeout after 30 s in step write_transcript_to_storage (attempt 2 of 5)
        HTTP 503 from https://api.example.org/v1/jobs at 12:30:45
        disk full: 0 of 500 GB left
    "#]]
    .assert_eq(&format!("{}\n", shown.join("\n")));
}

// C-013: an error is masked where it comes in, and again wherever it is shown.
#[test]
fn what_was_masked_stays_as_it_is_when_it_is_masked_again() {
    for line in CORPUS.trim().lines().chain(["user ada@example.com password=hunter2 said no"]) {
        let once = message(line);
        assert_eq!(message(&once), once, "{line}");
    }
}

#[test]
fn a_message_is_one_short_line() {
    // C-013
    let long = message(&"the disk is full\n\tagain\u{7} and ".repeat(100));
    assert_eq!(long.chars().count(), MESSAGE_CHARS_MAX);
    assert!(long.ends_with('…') && !long.contains(char::is_control));
    assert_eq!(message("a\n  b\r\nc"), "a b c");
    assert_eq!(message(""), "");
}

#[test]
fn a_code_is_a_short_word() {
    // C-013
    let cases = [
        ("ConnectionTimeout", "connection_timeout"),
        ("HTTP 503", "http_503"),
        ("no_paper", "no_paper"),
        ("E42.disk-full", "e42.disk-full"),
        ("ada@example.org", "email"),
        ("", "error"),
        ("--", "error"),
        ("Überlauf", "berlauf"),
    ];
    for (text, expected) in cases {
        assert_eq!(code(text), expected, "{text}");
    }
    assert!(code(&"VeryLongCode".repeat(50)).len() <= CODE_CHARS_MAX);
}

/// Something personal, as it might stand anywhere in a text, and the part of it that must not be seen.
fn personal() -> impl Strategy<Value = (String, String)> {
    let same = |text: String| (text.clone(), text);
    prop_oneof![
        "[a-z]{2,8}\\.[a-z]{2,8}@[a-z]{2,8}\\.(org|de|com)".prop_map(same),
        "\\+[1-9][0-9]{1,2} [0-9]{3} [0-9]{4,7}".prop_map(same),
        "[0-9]{7,16}".prop_map(same),
        "[1-9][0-9]{0,2}\\.[0-9]{1,3}\\.[0-9]{1,3}\\.[0-9]{1,3}".prop_map(same),
        "[A-Z][a-z]{2,8} [A-Z][a-z]{2,8}".prop_map(|name| (format!("\"{name}\""), name)),
        "[a-z]{8,12}".prop_map(|word| (format!("password={word}"), word)),
        "[a-z]{8,12}".prop_map(|word| (format!("Bearer {word}"), word)),
        "[a-z]{8,12}".prop_map(|word| (format!("https://x.example/p?q={word}"), word)),
        "[A-Za-z]{6}[0-9]{4}[A-Za-z]{8,20}".prop_map(same),
    ]
}

proptest! {
    #[test]
    fn nothing_personal_is_shown_wherever_it_stands(
        before in "[b-df-hj-np-tv-z ]{0,40}",
        (text, secret) in personal(),
        after in "(, [b-df-hj-np-tv-z ]{0,40})?",
    ) {
        // C-013
        for text in [format!("{before} {text}{after}"), format!("{before}({text}){after}")] {
            let shown = message(&text);
            prop_assert!(!shown.contains(&secret), "{text:?} is shown as {shown:?}");
            prop_assert!(!code(&text).contains(&secret.to_lowercase()), "{text:?}");
        }
    }

    #[test]
    fn any_text_becomes_a_short_line_without_addresses_and_long_numbers(text in any::<String>()) {
        // C-013
        let shown = message(&text);
        prop_assert!(shown.chars().count() <= MESSAGE_CHARS_MAX);
        let unwanted = |c: char| c == '@' || c.is_control();
        prop_assert!(!shown.contains(unwanted), "shown");
        let digits = |run: &str| run.chars().filter(|c| c.is_numeric()).count();
        prop_assert!(shown.split(|c: char| !c.is_numeric()).all(|run| digits(run) < 6), "{shown}");
        let code = code(&text);
        prop_assert!((1..=CODE_CHARS_MAX).contains(&code.len()));
        prop_assert!(code.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "_.-".contains(c)));
    }
}
