//! Completion webhooks, as their receiver sees them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use stepwell_connectors::egress::sign;

use crate::program::{Server, run};

/// A request that came in: its headers in lower case, and its body.
struct Received {
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Received {
    fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(key, _)| key == name);
        &found.unwrap_or_else(|| panic!("there is no {name}")).1
    }
}

/// Takes one request and answers 204.
fn receive(listener: &TcpListener) -> Received {
    let (mut stream, _) = listener.accept().expect("somebody calls");
    let mut reader = BufReader::new(stream.try_clone().expect("a second handle"));
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).expect("a line");
        if line.trim().is_empty() {
            break;
        }
        lines.push(line);
    }
    let headers: Vec<(String, String)> = lines
        .iter()
        .filter_map(|line| line.split_once(':'))
        .map(|(key, value)| (key.to_lowercase(), value.trim().to_owned()))
        .collect();
    let mut received = Received { headers, body: Vec::new() };
    let length: usize = received.header("content-length").parse().expect("a number");
    received.body.resize(length, 0);
    reader.read_exact(&mut received.body).expect("a body");
    stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").expect("an answer");
    received
}

fn envelope(server: &Server, url: &str) -> String {
    let envelope = json!({
        "schema_version": "1", "tenant_id": "acme", "request_type": "t", "payload": {},
        "input_ref": "test://in", "output_ref": "test://out", "callback_urls": [url],
    });
    let path = server.home.path().join("envelope.json");
    std::fs::write(&path, envelope.to_string()).expect("there is room for a file");
    path.display().to_string()
}

const WORKFLOW: &str = "name: w\nrequest_type: t\nsteps:\n  - {id: a, type: A, pool: p}\n";

// the client's own URL is told of the end, signed with the secret in the data directory.
#[test]
fn the_end_of_a_job_is_told_to_its_callback_url_with_a_signature_that_holds() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/done", listener.local_addr().unwrap());
    let settings = [
        "--allow-webhook-host=127.0.0.1",
        "--allow-webhook-network=127.0.0.0/8",
        "--allow-webhook-http",
    ];
    let server = Server::start_with(tempfile::tempdir().unwrap(), &settings);
    server.publish(WORKFLOW);
    let answer = server.json(&["command", "submit", "--file", &envelope(&server, &url)]);
    let job = answer["jobId"].as_str().unwrap();
    server.json(&["job", "step", "complete", job, "a"]);
    let received = receive(&listener);
    let event: Value = serde_json::from_slice(&received.body).unwrap();
    assert_eq!(event["data"]["jobId"], job);
    assert_eq!(event["data"]["status"], "SUCCEEDED");
    let secret = std::fs::read_to_string(server.data().join("webhook-secret")).unwrap();
    let secret = BASE64_STANDARD.decode(secret.trim().strip_prefix("whsec_").unwrap()).unwrap();
    let timestamp_s = received.header("webhook-timestamp").parse().unwrap();
    let expected = sign(&secret, received.header("webhook-id"), timestamp_s, &received.body);
    assert_eq!(received.header("webhook-signature"), expected);
}

// without a setting no webhook goes anywhere, and certainly not inside.
#[test]
fn a_callback_url_that_nobody_allowed_is_refused_when_it_is_handed_in() {
    let server = Server::start();
    server.publish(WORKFLOW);
    let file = envelope(&server, "http://169.254.169.254/latest/meta-data");
    let ended = run(&mut server.client(&["command", "submit", "--file", &file])).with_code(7);
    assert!(ended.stderr.contains("callback_urls"), "{}", ended.stderr);
    assert_eq!(server.json(&["job", "list"])["items"], json!([]));
}
