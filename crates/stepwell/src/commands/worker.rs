//! `stepwell worker exec`: a worker that runs a local command for each directive.

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use stepwell_worker::{Client, ClientError, Directive, Outcome, Worker};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStderr, Command};

use crate::config::ClientFlags;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::print::printable;
use crate::serve::signal;
use crate::session::Global;

/// The exit code of a command that may succeed later: EX_TEMPFAIL of sysexits.h.
const TRY_AGAIN: i32 = 75;
/// The end of standard error that becomes the message of a failure.
const TAIL_MAX: usize = 1_000;
/// The most that a command may answer.
const ANSWER_MAX: u64 = 256 * 1024;

/// What kind of worker to be.
#[derive(Debug, Subcommand)]
pub(crate) enum WorkerCommand {
    /// Run a local command for each directive
    ///
    /// The command gets the directive as JSON on standard input. What it writes to standard output
    /// is the result: JSON, or text that becomes {"output": "…"}. Exit code 0 means success, 75 a
    /// failure that another attempt may cure, anything else a final failure; the end of standard
    /// error becomes the error message. The directive stays with this worker while the command runs.
    /// If it is lost, or this worker is stopped, the command is killed and another worker may begin.
    Exec(ExecArguments),
}

/// What `worker exec` is told.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  stepwell worker exec --pool greeter -- jq '{greeting: \
    (\"hello, \" + .payload.name)}'")]
pub(crate) struct ExecArguments {
    /// The pool whose directives to take
    #[arg(long)]
    pool: String,
    /// Of these lanes only, 0 to 15
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u8).range(0..16))]
    lanes: Vec<u8>,
    /// How many commands run at once
    #[arg(long, default_value_t = 1, value_name = "N")]
    concurrency: usize,
    /// Seconds after which a worker that has gone silent loses a directive
    #[arg(long, default_value_t = 60, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3600))]
    visibility: u64,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
    #[command(flatten)]
    client: ClientFlags,
}

pub(crate) async fn run(global: Global, command: WorkerCommand) -> Result<Exit, Failure> {
    let WorkerCommand::Exec(arguments) = command;
    let session = global.session(arguments.client.0)?;
    // The same words as every other command has for a missing token.
    session.api()?;
    let token = session.config.get("token").unwrap_or_default();
    let client = Client::new(session.config.text("server"), token).map_err(failure)?;
    let program = Arc::new(arguments.command);
    let handler = move |directive| {
        let program = Arc::clone(&program);
        async move { execute(&program, &directive).await }
    };
    session.print.note(&format!(
        "waiting for directives of pool {:?} at {}",
        arguments.pool,
        session.config.text("server")
    ));
    let tally = Worker::new(client, &arguments.pool)
        .lanes(&arguments.lanes)
        .concurrency(arguments.concurrency)
        .visibility(Duration::from_secs(arguments.visibility))
        .drain(Duration::ZERO)
        .run(handler, signal::first())
        .await
        .map_err(failure)?;
    let summary = json!({
        "applied": tally.applied, "refused": tally.refused,
        "given_back": tally.given_back, "lost": tally.lost,
    });
    session.print.answer(&summary, |_| {
        session.print.note(&format!(
            "stopped: {} reported, {} refused, {} given back, {} lost",
            tally.applied, tally.refused, tally.given_back, tally.lost
        ));
    });
    Ok(Exit::Ok)
}

fn failure(error: ClientError) -> Failure {
    let exit = match &error {
        ClientError::Unavailable { .. } => Exit::Unavailable,
        ClientError::Refused { status, .. } => Exit::of_status(*status),
        ClientError::Unreadable(_) | ClientError::Setup { .. } => Exit::Failure,
    };
    Failure::new(exit, "worker", error.to_string())
}

/// Runs the command. Dropping this kills it, with everything it has started.
async fn execute(program: &[String], directive: &Directive) -> Outcome {
    let spawned = Command::new(&program[0])
        .args(&program[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // A group of its own: Ctrl-C reaches this worker alone, which then decides.
        .process_group(0)
        .kill_on_drop(true)
        .spawn();
    let mut child = match spawned {
        Ok(child) => child,
        Err(error) => {
            // Another machine may have the command, or this one may have room again later.
            return Outcome::retryable("not_started", format!("{}: {error}", program[0]));
        }
    };
    let mut group = Group(child.id());
    match converse(&mut child, directive).await {
        Ok((answer, tail)) => match child.wait().await {
            Ok(status) => {
                group.0 = None;
                judge(status.code(), &answer, &tail)
            }
            Err(error) => Outcome::retryable("not_waited_for", error.to_string()),
        },
        Err(error) => Outcome::retryable("broken_pipe", error.to_string()),
    }
}

/// The processes of a command that has not ended; dropping it ends them.
///
/// The system's own call for a group needs unsafe code, which this workspace does without.
struct Group(Option<u32>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(leader) = self.0 {
            let group = format!("-{leader}");
            let kill =
                std::process::Command::new("kill").args(["-s", "KILL", "--", &group]).status();
            if let Err(error) = kill {
                // The leader itself is killed when its handle is dropped.
                tracing::warn!(%error, "group_not_killed");
            }
        }
    }
}

/// Hands the directive over, and takes the answer and the end of standard error.
async fn converse(child: &mut Child, directive: &Directive) -> std::io::Result<(Vec<u8>, String)> {
    let input = serde_json::to_vec(directive).map_err(std::io::Error::other)?;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let write = async {
        if let Some(mut stdin) = stdin {
            // A command that does not read its input is as good as one that does.
            let _ = stdin.write_all(&input).await;
        }
    };
    let read = async {
        let mut answer = Vec::new();
        if let Some(stdout) = stdout {
            stdout.take(ANSWER_MAX + 1).read_to_end(&mut answer).await?;
        }
        Ok::<_, std::io::Error>(answer)
    };
    let ((), answer, tail) = tokio::join!(write, read, tail(stderr));
    Ok((answer?, tail))
}

/// The end of standard error, however much came before it.
async fn tail(stderr: Option<ChildStderr>) -> String {
    let Some(mut stderr) = stderr else { return String::new() };
    let (mut kept, mut chunk) = (Vec::new(), [0; 4096]);
    while let Ok(count @ 1..) = stderr.read(&mut chunk).await {
        kept.extend_from_slice(&chunk[..count]);
        let surplus = kept.len().saturating_sub(TAIL_MAX);
        kept.drain(..surplus);
    }
    printable(String::from_utf8_lossy(&kept).trim())
}

fn judge(code: Option<i32>, answer: &[u8], tail: &str) -> Outcome {
    let message = |fallback: String| if tail.is_empty() { fallback } else { tail.to_owned() };
    match code {
        Some(0) if answer.len() as u64 > ANSWER_MAX => Outcome::failed(
            "answer_too_large",
            "the command wrote more than 256 KiB; store it elsewhere and write a reference",
        ),
        Some(0) => Outcome::succeeded(result(answer)),
        Some(TRY_AGAIN) => Outcome::retryable("try_again", message("exit code 75".to_owned())),
        Some(code) => {
            Outcome::failed("command_failed", message(format!("the command ended with {code}")))
        }
        None => Outcome::retryable("killed", message("the command was killed".to_owned())),
    }
}

fn result(answer: &[u8]) -> Value {
    let text = String::from_utf8_lossy(answer);
    let text = text.trim();
    match serde_json::from_str(text) {
        Ok(value) => value,
        Err(_) if text.is_empty() => Value::Null,
        Err(_) => json!({ "output": text }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_code_of_a_command_says_whether_another_attempt_may_help() {
        assert_eq!(judge(Some(0), b"{\"a\": 1}\n", "noise"), Outcome::succeeded(json!({"a": 1})));
        assert_eq!(judge(Some(75), b"", "busy"), Outcome::retryable("try_again", "busy"));
        assert_eq!(
            judge(Some(1), b"", "bad input"),
            Outcome::failed("command_failed", "bad input")
        );
        let killed = Outcome::retryable("killed", "the command was killed");
        assert_eq!(judge(None, b"", ""), killed);
    }

    #[test]
    fn text_that_is_no_json_becomes_an_output() {
        assert_eq!(result(b"hello\n"), json!({"output": "hello"}));
        assert_eq!(result(b""), Value::Null);
    }
}
