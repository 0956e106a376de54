//! Lists of members that come with a request.

use axum::http::StatusCode;
use serde_json::json;

use super::{MAILBOXES, TWO, site_with};
use crate::site::{Call, get, post};

const BOUNDARY: &str = "------a-boundary";

/// A form with these fields: name, whether it is a file, and what it holds.
fn form(call: Call, fields: &[(&str, bool, &str)]) -> Call {
    let mut body = String::new();
    for (name, is_file, content) in fields {
        let file =
            if *is_file { "; filename=\"members.csv\"\r\nContent-Type: text/csv" } else { "" };
        body += &format!(
            "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"{file}\r\n\r\n"
        );
        body += &format!("{content}\r\n");
    }
    body += &format!("--{BOUNDARY}--\r\n");
    call.bytes(&format!("multipart/form-data; boundary={BOUNDARY}"), body.into_bytes())
}

#[tokio::test]
async fn a_form_with_a_file_makes_a_batch() {
    //
    let site = site_with(MAILBOXES).await;
    let fields = [("runbook", false, "mailboxes"), ("file", true, TWO)];
    let made = site.ask(form(post("/api/batches"), &fields)).await.expect(StatusCode::CREATED);
    assert_eq!(made["members"]["total"], 2);
    let id = &made["id"];
    let call = form(
        post(&format!("/api/batches/{id}/members")),
        &[("file", true, "Email,Name\ncyd@contoso.com,Cyd\n")],
    );
    let added = site.ask(call).await.expect(StatusCode::CREATED);
    assert_eq!(added["added"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn the_same_list_under_the_same_key_makes_one_batch() {
    // whoever missed the answer asks again, in either form, and gets it.
    let site = site_with(MAILBOXES).await;
    let keyed = |key: &str| post("/api/batches?runbook=mailboxes").header("idempotency-key", key);
    let list = "Email,Name,Shoe\nada@contoso.com,Ada,38\n";
    let first = site.ask(keyed("wave-7").csv(list)).await;
    let made = first.expect(StatusCode::CREATED);
    let before = site.written().await;
    let again = site.ask(keyed("wave-7").csv(list)).await;
    assert_eq!(again.expect(StatusCode::CREATED), made, "warnings and all");
    assert_eq!(again.header("location"), first.header("location"));
    let fields = [("runbook", false, "mailboxes"), ("file", true, list)];
    let call = form(post("/api/batches"), &fields).header("idempotency-key", "wave-7");
    assert_eq!(site.ask(call).await.expect(StatusCode::CREATED)["id"], made["id"]);

    site.ask(keyed("wave-7").csv(TWO)).await.refused(409, "idempotency_key_reused");
    site.ask(keyed("").csv(TWO)).await.refused(400, "malformed_parameter");
    assert_eq!(site.written().await, before, "nothing more was made");
    let other = site.ask(keyed("wave-8").csv(list)).await.expect(StatusCode::CREATED);
    assert_ne!(other["id"], made["id"]);
    // What was made once stays made, even if the runbook no longer takes the list.
    super::publish(&site, &MAILBOXES.replace("primary_key: Email", "primary_key: Mail")).await;
    let again = site.ask(keyed("wave-7").csv(list)).await.expect(StatusCode::CREATED);
    assert_eq!(again["id"], made["id"]);
}

#[tokio::test]
async fn lists_that_come_at_once_under_the_same_key_make_one_batch() {
    //
    let site = site_with(MAILBOXES).await;
    let call = || {
        let call = post("/api/batches?runbook=mailboxes").header("idempotency-key", "wave-7");
        site.ask(call.csv(TWO))
    };
    let replies = tokio::join!(call(), call(), call(), call());
    let ids = [replies.0, replies.1, replies.2, replies.3]
        .map(|reply| reply.expect(StatusCode::CREATED)["id"].as_i64().unwrap());
    assert_eq!(ids, [ids[0]; 4]);
    assert_eq!(site.ask(get("/api/batches")).await.json()["total"], 1);
}

#[tokio::test]
async fn a_form_that_cannot_be_used_makes_nothing() {
    let site = site_with(MAILBOXES).await;
    let before = site.written().await;
    let (runbook, file) = (("runbook", false, "mailboxes"), ("file", true, TWO));
    let send = async |call: Call, fields: &[_]| site.ask(form(call, fields)).await;
    let batches = || post("/api/batches");
    send(batches(), &[runbook]).await.refused(400, "malformed_request");
    send(batches(), &[file]).await.refused(400, "malformed_parameter");
    let stray = ("colour", false, "red");
    send(batches(), &[runbook, file, stray]).await.refused(400, "malformed_request");
    let call = post("/api/batches?runbook=others");
    send(call, &[runbook, file]).await.refused(400, "malformed_parameter");
    let nobody = ("runbook", false, "nobody");
    send(batches(), &[nobody, file]).await.refused(404, "runbook_not_found");
    let cut = b"--x\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\nEmail".to_vec();
    let call = batches().bytes("multipart/form-data; boundary=x", cut);
    site.ask(call).await.refused(400, "malformed_request");
    let call = batches().bytes("multipart/form-data", b"x".to_vec());
    site.ask(call).await.refused(400, "malformed_request");
    assert_eq!(site.written().await, before);
}

#[tokio::test]
async fn a_body_of_another_kind_is_refused() {
    let site = site_with(MAILBOXES).await;
    for path in [
        "/api/batches?runbook=mailboxes",
        "/api/batches/1/members",
        "/api/runbooks/mailboxes/plan-batch",
    ] {
        let call = post(path).json(&json!({"members": []}));
        let problem = site.ask(call).await.refused(415, "unsupported_media_type");
        assert!(problem["detail"].as_str().unwrap().contains("text/csv"), "{problem}");
        site.ask(post(path)).await.refused(415, "unsupported_media_type");
    }
}

#[tokio::test]
async fn every_fault_of_a_list_is_named_with_its_line_and_nothing_is_made() {
    // 400, nothing created.
    let site = site_with(MAILBOXES).await;
    let before = site.written().await;
    let send = async |list: &str| {
        site.ask(post("/api/batches?runbook=mailboxes").csv(list))
            .await
            .refused(400, "invalid_members")
    };
    let problem = send("Email,Name\nada@contoso.com,Ada\n,Bob\nada@contoso.com,Ada\nx,y,z\n").await;
    let told: Vec<_> = problem["details"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (&it["line"], &it["code"]))
        .collect();
    assert_eq!(
        told,
        [
            (&json!(3), &json!("empty_key")),
            (&json!(4), &json!("duplicate_key")),
            (&json!(5), &json!("ragged_row")),
        ]
    );
    for list in ["", "Name\nAda\n", "Email,Name\n", "Email;Name\nada@contoso.com;Ada\n"] {
        send(list).await;
    }
    let call = post("/api/batches?runbook=mailboxes").bytes("text/csv", b"Email\n\xff\n".to_vec());
    site.ask(call).await.refused(400, "invalid_members");
    assert_eq!(site.written().await, before);
}

#[tokio::test]
async fn marks_and_line_ends_of_other_programs_are_no_fault() {
    let site = site_with(MAILBOXES).await;
    let list = "\u{feff}Email,Name\r\nada@contoso.com,\"Ada\r\nLovelace\"\r\n";
    let made = site.ask(post("/api/batches?runbook=mailboxes").csv(list)).await;
    let id = made.expect(StatusCode::CREATED)["id"].as_i64().unwrap();
    let member = &super::members(&site, id).await[0];
    assert_eq!(member["data"]["Name"], "Ada\r\nLovelace");
}

#[tokio::test]
async fn a_column_that_nobody_uses_is_a_warning() {
    let site = site_with(MAILBOXES).await;
    let list = "Email,Name,Shoe\nada@contoso.com,Ada,38\n";
    let made = site.ask(post("/api/batches?runbook=mailboxes").csv(list)).await;
    let warnings = made.expect(StatusCode::CREATED)["warnings"].clone();
    assert!(warnings[0]["message"].as_str().unwrap().contains("Shoe"), "{warnings}");
}

#[tokio::test]
async fn a_list_that_is_longer_than_any_batch_is_cut_off() {
    // 200 MB are read; what is longer is refused before it is kept.
    let site = site_with(MAILBOXES).await;
    let before = site.written().await;
    let mut list = b"Email,Name\n".to_vec();
    list.resize(200 * 1024 * 1024 + 1, b'x');
    let call = post("/api/batches?runbook=mailboxes").bytes("text/csv", list);
    site.ask(call).await.refused(413, "body_too_large");
    assert_eq!(site.written().await, before);
}
