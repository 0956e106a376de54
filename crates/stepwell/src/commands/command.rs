//! `stepwell command`: submit commands.

use std::io::Read;
use std::path::{Path, PathBuf};

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use serde_json::{Map, Value};

use super::job::watch;
use crate::config::ClientFlags;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::session::Global;

/// What to do with commands.
#[derive(Debug, Subcommand)]
pub(crate) enum CommandCommand {
    /// Submit a command: from flags, from a JSON file, or from a file with some fields replaced
    ///
    /// The job exists, durably, once this returns. Give an idempotency key and the same command may
    /// be submitted again without making a second job.
    Submit(Box<SubmitArguments>),
}

/// What `command submit` is told.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  stepwell command submit --tenant contoso --type document.ingest \
    --input-ref blob://in/7 --output-ref blob://out/7 --payload '{\"pages\": 3}' --wait"
)]
pub(crate) struct SubmitArguments {
    /// The envelope as JSON; - reads standard input
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Whom the job belongs to
    #[arg(long)]
    tenant: Option<String>,
    /// What is asked for: the request_type of a workflow
    #[arg(long = "type", value_name = "REQUEST_TYPE")]
    request_type: Option<String>,
    /// Where the input is
    #[arg(long, value_name = "REF")]
    input_ref: Option<String>,
    /// Where the output goes
    #[arg(long, value_name = "REF")]
    output_ref: Option<String>,
    /// The payload, a JSON object; {} if it is given nowhere
    #[arg(long, value_name = "JSON")]
    payload: Option<String>,
    /// Makes a repetition of this command harmless
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    /// Ties the job to what you know
    #[arg(long, value_name = "ID")]
    correlation_id: Option<String>,
    /// The document that BURST mode spreads the work by
    #[arg(long, value_name = "ID")]
    doc_id: Option<String>,
    /// How the lane is chosen
    #[arg(long, value_parser = PossibleValuesParser::new(["DEFAULT", "BURST"]))]
    mode: Option<String>,
    /// Follow the job to its end; the exit code tells how it ended
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    client: ClientFlags,
}

pub(crate) async fn run(global: Global, command: CommandCommand) -> Result<Exit, Failure> {
    let CommandCommand::Submit(arguments) = command;
    let envelope = envelope(&arguments)?;
    let wait = arguments.wait;
    let session = global.session(arguments.client.0)?;
    let api = session.api()?;
    let answer = api.post(&["v1", "commands"], &envelope).await?;
    let job = answer["jobId"].as_str().unwrap_or_default().to_owned();
    if wait {
        if !session.print.is_json() {
            session.print.note(&format!("job {job}"));
        }
        return watch::watch(&session, &api, &job, None).await;
    }
    session.print.answer(&answer, |answer| {
        if answer["created"] == false {
            session.print.note("this command was submitted before; its job:");
        }
        session.print.line(&job);
    });
    Ok(Exit::Ok)
}

fn envelope(arguments: &SubmitArguments) -> Result<Value, Failure> {
    let mut envelope = match &arguments.file {
        Some(path) => read(path)?,
        None => Map::new(),
    };
    let texts = [
        ("tenant_id", &arguments.tenant),
        ("request_type", &arguments.request_type),
        ("input_ref", &arguments.input_ref),
        ("output_ref", &arguments.output_ref),
        ("idempotency_key", &arguments.idempotency_key),
        ("correlation_id", &arguments.correlation_id),
        ("doc_id", &arguments.doc_id),
        ("mode", &arguments.mode),
    ];
    for (key, text) in texts {
        if let Some(text) = text {
            envelope.insert(key.to_owned(), Value::from(text.as_str()));
        }
    }
    if let Some(payload) = &arguments.payload {
        envelope.insert("payload".to_owned(), json_argument(payload, "--payload")?);
    }
    envelope.entry("payload").or_insert_with(|| Value::Object(Map::new()));
    envelope.entry("schema_version").or_insert_with(|| Value::from("1"));
    Ok(Value::Object(envelope))
}

fn read(path: &Path) -> Result<Map<String, Value>, Failure> {
    let text = read_text(path)?;
    match json_argument(&text, &path.display().to_string())? {
        Value::Object(envelope) => Ok(envelope),
        _ => Err(Failure::invalid(format!("{} is not a JSON object", path.display()))),
    }
}

/// What stands in a file, or on standard input if it is `-`.
pub(super) fn read_text(path: &Path) -> Result<String, Failure> {
    let text = if path == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        std::fs::read_to_string(path)
    };
    text.map_err(|cause| Failure::file(path, "read", &cause))
}

/// An argument that is JSON.
pub(super) fn json_argument(text: &str, place: &str) -> Result<Value, Failure> {
    serde_json::from_str(text).map_err(|error| {
        Failure::invalid(format!("{place} is not JSON: {error}"))
            .next("write an object such as {\"pages\": 3}, in single quotes for the shell")
    })
}
