//! A list of members as CSV: what is read.

use expect_test::expect;
use proptest::prelude::*;
use stepwell_dialects::runbooks::columns::{template_columns, template_csv};
use stepwell_dialects::runbooks::members_csv::{MembersCsv, read};
use stepwell_dialects::runbooks::rows::MemberRow;

use super::{MAILBOXES, runbook, with_steps};

/// A runbook whose members have a mail address and a name.
pub(super) fn greetings() -> stepwell_dialects::runbooks::Runbook {
    runbook(&with_steps(
        "{name: s, worker_id: w, function: F, params: {to: '{{Id}}', name: '{{Name}}'}}",
    ))
}

#[track_caller]
fn members(csv: &MembersCsv<'_>) -> Vec<MemberRow> {
    let members: Vec<MemberRow> = csv.members().collect();
    assert_eq!(members.len(), csv.count());
    members
}

#[track_caller]
fn sound<'b>(bytes: &'b [u8], runbook: &stepwell_dialects::runbooks::Runbook) -> MembersCsv<'b> {
    read(bytes, runbook).unwrap_or_else(|problems| panic!("{}", problems.in_file("members.csv")))
}

// A-134: the key comes from the column of the primary key; A-035: lists are split.
#[test]
fn a_list_gives_members_with_their_data() {
    let text = "\
UserPrincipalName,FirstName,LastName,ObjectType,Aliases,Groups,Licenses
ada@contoso.com,Ada,Lovelace,User,ada;a.l,\"g1, g2\",\"[\"\"E3\"\"]\"
 alan@contoso.com ,Alan,\"Turing
(Bletchley)\",User,,,
";
    let runbook = runbook(MAILBOXES);
    let csv = sound(text.as_bytes(), &runbook);
    assert!(csv.warnings.is_empty());
    let lines: Vec<String> = members(&csv)
        .iter()
        .map(|member| {
            format!("{}: {}", member.key, serde_json::to_string_pretty(&member.data).unwrap())
        })
        .collect();
    expect![[r#"
        ada@contoso.com: {
          "Aliases": [
            "ada",
            "a.l"
          ],
          "FirstName": "Ada",
          "Groups": [
            "g1",
            "g2"
          ],
          "LastName": "Lovelace",
          "Licenses": [
            "E3"
          ],
          "ObjectType": "User",
          "UserPrincipalName": "ada@contoso.com"
        }
        alan@contoso.com: {
          "Aliases": [],
          "FirstName": "Alan",
          "Groups": [],
          "LastName": "Turing\n(Bletchley)",
          "Licenses": [],
          "ObjectType": "User",
          "UserPrincipalName": " alan@contoso.com "
        }"#]]
    .assert_eq(&lines.join("\n"));
}

// X-082: what spreadsheets add is not a fault.
#[test]
fn a_byte_order_mark_carriage_returns_and_empty_lines_are_nothing() {
    let runbook = greetings();
    for text in [
        "Id,Name\n1,Ada\n2,Alan\n",
        "\u{feff}Id,Name\r\n1,Ada\r\n2,Alan\r\n",
        "Id,Name\n\n1,Ada\n\n\n2,Alan",
        "\u{feff}\"Id\",\"Name\"\r\n\"1\",\"Ada\"\r\n2,Alan\r\n\r\n",
        "Id,Name\r1,Ada\r2,Alan\r",
        " id , NAME \n1,Ada\n2,Alan\n",
    ] {
        let csv = sound(text.as_bytes(), &runbook);
        let members = members(&csv);
        let keys: Vec<&str> = members.iter().map(|member| member.key.as_str()).collect();
        assert_eq!(keys, ["1", "2"], "{text:?}");
        assert!(csv.warnings.is_empty(), "{text:?}");
    }
}

// A column that nobody uses is accepted, and said.
#[test]
fn columns_that_no_step_uses_are_a_warning() {
    let runbook = runbook(&MAILBOXES.replace("json_array", "comma_delimited"));
    let text = "UserPrincipalName,FirstName,LastName,ObjectType,MigrationDate,Shoe,Hat\n\
                a,b,c,d,2026-03-15,43,7\n";
    let csv = sound(text.as_bytes(), &runbook);
    let warnings: Vec<String> =
        csv.warnings.iter().map(|warning| warning.to_string().replace("; ", ";\n  ")).collect();
    expect![[r#"
        1:1: "MigrationDate" does not say when this batch starts;
          a batch made of a list goes on when somebody advances it
        1:1: no step uses "Shoe", "Hat";
          the columns of this runbook are "UserPrincipalName", "FirstName", "LastName", "ObjectType", "Aliases", "Groups", "Licenses""#]]
    .assert_eq(&warnings.join("\n"));
    assert_eq!(members(&csv)[0].data["Shoe"], "43", "and kept");
}

// A-148, X-081: an empty list to fill in, which is a sound header.
#[test]
fn the_template_is_a_header_that_is_accepted() {
    let runbook = runbook(MAILBOXES);
    let text = template_csv(&runbook);
    assert_eq!(text, "UserPrincipalName,FirstName,LastName,ObjectType,Aliases,Groups,Licenses\r\n");
    let line = vec!["x"; template_columns(&runbook).len() - 1].join(",");
    let filled = format!("{text}{line},[]\r\n");
    assert_eq!(sound(filled.as_bytes(), &runbook).count(), 1);
}

/// Cells as people write them: quotes, commas, line breaks, blanks, other scripts.
fn cell() -> impl Strategy<Value = String> {
    "[ -~äß漢\r\n\t\",;']{0,12}"
}

fn key() -> impl Strategy<Value = String> {
    "[a-z\",@ é]{0,8}[a-z]"
}

proptest! {
    // A-130, A-134: whatever a program writes is read back.
    #[test]
    fn a_written_list_is_read_back(
        list in prop::collection::btree_map(key(), cell(), 1..20),
        has_mark in any::<bool>(),
        has_carriage_return in any::<bool>(),
    ) {
        let terminator =
            if has_carriage_return { csv::Terminator::CRLF } else { csv::Terminator::Any(b'\n') };
        let start = if has_mark { "\u{feff}".as_bytes().to_vec() } else { Vec::new() };
        let mut writer = csv::WriterBuilder::new().terminator(terminator).from_writer(start);
        writer.write_record(["Name", "Id"]).unwrap();
        let mut expected = std::collections::BTreeMap::new();
        for (key, name) in &list {
            if expected.insert(key.trim().to_owned(), name.clone()).is_none() {
                writer.write_record([name, key]).unwrap();
            }
        }
        let bytes = writer.into_inner().unwrap();
        let runbook = greetings();
        let csv = read(&bytes, &runbook).map_err(|problems| {
            TestCaseError::fail(format!("{problems}\n{}", String::from_utf8_lossy(&bytes)))
        })?;
        let read: Vec<MemberRow> = csv.members().collect();
        prop_assert_eq!(read.len(), expected.len());
        for member in read {
            prop_assert_eq!(&member.data["Name"], list.iter()
                .find(|(key, _)| key.trim() == member.key).map(|(_, name)| name.as_str()).unwrap());
        }
    }

    // X-082: no input makes it panic, and what is accepted has a key for every member.
    #[test]
    fn any_bytes_are_a_list_or_a_list_of_problems(bytes in "(Id,Name\r?\n)?([a-c\",;\r\n\u{0}ä]{0,4}[,\"\n])*") {
        let runbook = greetings();
        if let Ok(csv) = read(bytes.as_bytes(), &runbook) {
            let keys: Vec<String> = csv.members().map(|member| member.key).collect();
            prop_assert_eq!(keys.len(), csv.count());
            prop_assert!(keys.iter().all(|key| !key.is_empty()));
            let distinct: std::collections::BTreeSet<&String> = keys.iter().collect();
            prop_assert_eq!(distinct.len(), keys.len());
        }
    }
}
