//! Webhook signatures, from the side of a receiver.

use std::time::Duration;

use stepwell_connectors::egress::{
    SignatureError, SignedHeaders, secret_bytes, secret_text, sign, verify, verify_within,
};

const SECRET: &[u8] = b"a secret of the receiver";
const NOW_S: i64 = 1_700_000_000;

fn headers<'a>(timestamp: &'a str, signature: &'a str) -> SignedHeaders<'a> {
    SignedHeaders { id: "msg_1", timestamp, signature }
}

// The example of the Standard Webhooks specification's own libraries.
#[test]
fn a_signature_is_the_one_other_libraries_compute() {
    use base64::Engine;
    let secret = base64::engine::general_purpose::STANDARD
        .decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
        .unwrap();
    let body = br#"{"test": 2432232314}"#;
    let signature = sign(&secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, body);
    assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
}

#[test]
fn what_was_signed_is_accepted_for_five_minutes_either_way() {
    let signature = sign(SECRET, "msg_1", NOW_S, b"{}");
    let timestamp = NOW_S.to_string();
    let at = |now_s| verify(&[SECRET], headers(&timestamp, &signature), b"{}", now_s);
    assert_eq!([at(NOW_S), at(NOW_S + 300), at(NOW_S - 300)], [Ok(()); 3]);
    assert_eq!([at(NOW_S + 301), at(NOW_S - 301)], [Err(SignatureError::Stale); 2]);
}

#[test]
fn another_body_id_time_or_secret_is_not_accepted() {
    let signature = sign(SECRET, "msg_1", NOW_S, b"{}");
    let timestamp = NOW_S.to_string();
    let genuine = headers(&timestamp, &signature);
    let later = (NOW_S + 1).to_string();
    let mismatch = Err(SignatureError::Mismatch);
    assert_eq!(verify(&[SECRET], genuine, b"{ }", NOW_S), mismatch);
    assert_eq!(verify(&[b"another"], genuine, b"{}", NOW_S), mismatch);
    assert_eq!(verify(&[], genuine, b"{}", NOW_S), mismatch);
    let other_id = SignedHeaders { id: "msg_2", ..genuine };
    assert_eq!(verify(&[SECRET], other_id, b"{}", NOW_S), mismatch);
    let other_time = SignedHeaders { timestamp: &later, ..genuine };
    assert_eq!(verify(&[SECRET], other_time, b"{}", NOW_S), mismatch);
}

#[test]
fn during_a_rotation_either_secret_fits_either_signature() {
    let (old, new) = (sign(b"old", "msg_1", NOW_S, b"{}"), sign(b"new", "msg_1", NOW_S, b"{}"));
    let (both, timestamp) = (format!("{old} {new}"), NOW_S.to_string());
    for secrets in [&[b"old".as_slice()][..], &[b"new"], &[b"none", b"new"]] {
        assert_eq!(verify(secrets, headers(&timestamp, &both), b"{}", NOW_S), Ok(()));
    }
}

#[test]
fn only_the_first_three_signatures_are_looked_at() {
    let genuine = sign(SECRET, "msg_1", NOW_S, b"{}");
    let timestamp = NOW_S.to_string();
    let third = format!("v1,AAAA v2,anything {genuine}");
    assert_eq!(verify(&[SECRET], headers(&timestamp, &third), b"{}", NOW_S), Ok(()));
    let fourth = format!("v1,AAAA v1,BBBB v1,CCCC {genuine}");
    let answer = verify(&[SECRET], headers(&timestamp, &fourth), b"{}", NOW_S);
    assert_eq!(answer, Err(SignatureError::Mismatch));
}

#[test]
fn malformed_headers_are_an_answer_and_not_a_panic() {
    for signature in ["", "v1", "v1,", "v1,%%%", "v1a,AAAA", " ", ",", "v1,AAAA,BBBB"] {
        let timestamp = NOW_S.to_string();
        let answer = verify(&[SECRET], headers(&timestamp, signature), b"{}", NOW_S);
        assert_eq!(answer, Err(SignatureError::Mismatch), "{signature}");
    }
    let genuine = sign(SECRET, "msg_1", NOW_S, b"{}");
    for timestamp in ["", "now", "1e9", "99999999999999999999", "1700000000.0"] {
        let answer = verify(&[SECRET], headers(timestamp, &genuine), b"{}", NOW_S);
        assert_eq!(answer, Err(SignatureError::Malformed), "{timestamp}");
    }
    for id in ["", "msg.1"] {
        let timestamp = NOW_S.to_string();
        let named = SignedHeaders { id, ..headers(&timestamp, &genuine) };
        assert_eq!(verify(&[SECRET], named, b"{}", NOW_S), Err(SignatureError::Malformed));
    }
}

#[test]
fn a_receiver_may_have_a_window_of_its_own() {
    let signature = sign(SECRET, "msg_1", NOW_S, b"{}");
    let timestamp = NOW_S.to_string();
    let at = |now_s| {
        let window = Duration::from_secs(10);
        verify_within(&[SECRET], headers(&timestamp, &signature), b"{}", now_s, window)
    };
    assert_eq!([at(NOW_S + 10), at(NOW_S + 11)], [Ok(()), Err(SignatureError::Stale)]);
}

#[test]
fn a_secret_is_read_as_it_is_shown() {
    assert_eq!(secret_text(b"abc"), "whsec_YWJj");
    assert_eq!(secret_bytes("whsec_YWJj").as_deref(), Some(&b"abc"[..]));
    assert_eq!(secret_bytes("plain words").as_deref(), Some(&b"plain words"[..]));
    assert_eq!(secret_bytes("whsec_?"), None);
}
