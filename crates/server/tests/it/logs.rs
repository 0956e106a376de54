//! What is logged, and what never is.

use std::io;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tracing_subscriber::fmt::MakeWriter;

use crate::runbooks::MAILBOXES;
use crate::site::{Site, envelope_with, get, post, report_body};
use crate::workspaces;

/// Keeps what is logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

impl Log {
    /// The lines that say that a request was answered, with everything that was logged as text.
    fn requests(&self) -> (Vec<Value>, String) {
        let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
        let answered = |line: &Value| line["fields"]["message"] == "request_answered";
        (lines.filter(answered).collect(), text)
    }
}

// D-061, F133: the ids that tie a request to its job are logged; tokens, proofs and payloads never are.
#[tokio::test]
async fn a_request_is_logged_with_its_ids_and_without_its_secrets() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .json()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(log.clone())
        .finish();
    // For the whole program: which log lines are worth making is remembered across all threads.
    tracing::subscriber::set_global_default(subscriber).unwrap();
    let site = Site::on_sqlite().await;
    let fields = json!({"correlation_id": "order-7", "payload": {"document": "marker-payload"}});
    let call = post("/v1/commands").header("X-Request-Id", "r-1").json(&envelope_with(&fields));
    let job = site.ask(call).await.json()["jobId"].clone();
    let directive = site.lease("ocr-service").await;
    let url = directive["callback_urls"]["result"].as_str().unwrap();
    let body = report_body(&directive, &json!({"status": "SUCCEEDED", "result": "marker-result"}));
    site.send(post(&url["http://stepwell.test".len()..]).json(&body)).await;
    let wrong = post("/v1/callbacks/result?token=cb1.9999999999.marker-proof").json(&body);
    site.send(wrong).await.refused(401, "invalid_callback_token");

    read_members(&site).await;
    let (workspace_job, leaked) = fail_a_workspace_job(&site).await;

    let (lines, text) = log.requests();
    let spans: Vec<&Value> = lines.iter().map(|line| &line["span"]).collect();
    let span_of = |route: &str| {
        spans.iter().find(|span| span["route"] == route && span["job_id"] == job).unwrap()
    };
    let command = span_of("/v1/commands");
    assert_eq!(
        (&command["request_id"], &command["correlation_id"]),
        (&json!("r-1"), &json!("order-7"))
    );
    assert_eq!(command["status"], 202);
    let callback = spans.iter().find(|span| span["route"] == "/v1/callbacks/result").unwrap();
    assert_eq!(
        (&callback["job_id"], &callback["correlation_id"]),
        (&json!(job), &json!("order-7"))
    );
    let secret = site.admin.rsplit('_').next().unwrap();
    let proof = url.split_once("token=").unwrap().1;
    check_access_log(&text);
    check_trace(&spans, &text, &workspace_job);
    assert!(!text.contains(leaked), "C-013: {leaked} was logged");
    for hidden in
        [secret, proof, "marker-proof", "marker-payload", "marker-result", "token=", "marker-name"]
    {
        assert!(!text.contains(hidden), "{hidden} was logged");
    }
}

/// Fails a job whose worker writes somebody's address into its error, twice.
async fn fail_a_workspace_job(site: &Site) -> (Value, &'static str) {
    let leaked = "ada.lovelace@example.com";
    site.publish(workspaces::REPORT).await;
    let job = workspaces::create(site, &json!({"trace_id": "trace-of-the-log"})).await;
    let directive = workspaces::take(site).await;
    let error = json!({"status": "FAILED_FINAL", "error": format!("no mailbox for {leaked}")});
    for applied in [true, false] {
        let told = workspaces::report(site, &directive, &error).await;
        assert_eq!(told["applied"], applied);
    }
    site.ask(get(&workspaces::path(&job))).await;
    (job, leaked)
}

/// C-024, C-027: what is logged of a job has its trace; a report that it refuses is logged.
fn check_trace(spans: &[&Value], text: &str, job: &Value) {
    let of_job = spans.iter().filter(|span| span["job_id"] == job["job_id"]);
    let traces: Vec<&Value> = of_job.map(|span| &span["trace_id"]).collect();
    assert!(traces.len() >= 2 && traces.iter().all(|it| **it == "trace-of-the-log"), "{traces:?}");
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let is_refusal = |line: &Value| line["fields"]["message"] == "report_refused";
    let refusals: Vec<Value> = lines.filter(is_refusal).collect();
    let of_job = |line: &&Value| line["fields"]["job_id"] == job["job_id"];
    let refusal = refusals.iter().find(of_job).expect("the second report was refused");
    assert_eq!(refusal["fields"]["trace_id"], "trace-of-the-log");
}

/// Makes a batch, and reads its members.
async fn read_members(site: &Site) {
    let body = json!({"name": "mailboxes", "yaml_content": MAILBOXES});
    site.ask(post("/api/runbooks").json(&body)).await;
    let list = "Email,Name\nada@contoso.com,marker-name\n";
    let made = site.ask(post("/api/batches?runbook=mailboxes").csv(list)).await.json();
    site.ask(get(&format!("/api/batches/{}/members", made["id"]))).await;
}

/// who has read the data of whose members, without the data.
fn check_access_log(text: &str) {
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let is_read = |line: &Value| line["fields"]["message"] == "member_data_read";
    let line = lines.into_iter().find(is_read).unwrap();
    assert_eq!((&line["fields"]["batch_id"], &line["fields"]["members"]), (&json!(1), &json!(1)));
    assert!(line["span"]["subject"].as_str().unwrap().starts_with("first administrator"), "{line}");
}
