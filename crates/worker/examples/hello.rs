//! A worker that greets: `STEPWELL_TOKEN=… cargo run -p stepwell-worker --example hello`.

use std::process::ExitCode;

use serde_json::json;
use stepwell_worker::{Client, ClientError, Directive, Outcome, Worker};

#[tokio::main]
async fn main() -> ExitCode {
    match work().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn work() -> Result<(), ClientError> {
    let server = std::env::var("STEPWELL_SERVER");
    let server = server.unwrap_or_else(|_| "http://127.0.0.1:8080".to_owned());
    let token = std::env::var("STEPWELL_TOKEN").unwrap_or_default();
    let client = Client::new(&server, &token)?;
    let interrupted = async { tokio::signal::ctrl_c().await.unwrap_or(()) };
    let tally = Worker::new(client, "greeter").concurrency(4).run(greet, interrupted).await?;
    eprintln!("{} greetings reported", tally.applied);
    Ok(())
}

async fn greet(directive: Directive) -> Outcome {
    match directive.payload["name"].as_str() {
        Some(name) => Outcome::succeeded(json!({ "greeting": format!("hello, {name}") })),
        None => Outcome::failed("no_name", "the payload has no name; add it to the command"),
    }
}
