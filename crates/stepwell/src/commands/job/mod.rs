//! `stepwell job`: see, follow and steer jobs.

mod act;
mod create;
mod list;
mod show;
pub(crate) mod watch;

pub(crate) use show::{details, explained};

use clap::{Args, Subcommand};

use crate::config::ClientFlags;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::session::Global;

/// What to do with jobs.
#[derive(Debug, Subcommand)]
pub(crate) enum JobCommand {
    /// Make a job of a workspace
    ///
    /// The job exists, durably, once this returns. Give an idempotency key and the same job may be
    /// asked for again without making a second one.
    Create(Box<create::CreateArguments>),
    /// List jobs, newest first
    List(list::ListArguments),
    /// Show a job with its steps
    Get(show::GetArguments),
    /// Follow a job to its end; the exit code tells how it ended
    Watch(show::GetArguments),
    /// Say why a job is where it is, and what a person could do
    Explain(JobArguments),
    /// Show the steps of a job with every attempt
    Steps(JobArguments),
    /// Show everything that ever happened to a job
    History(JobArguments),
    /// Cancel a job: nothing new begins
    ///
    /// What is under way may finish, unless the job belongs to a workspace: that one has ended at once, and
    /// its worker is told by its next sign of life.
    Cancel(act::OrderArguments),
    /// Hold a job: nothing new begins until it is resumed
    Pause(act::ReasonArguments),
    /// Let a held job go on
    Resume(act::ReasonArguments),
    /// Begin again where a job that was given up or cancelled stopped, as a new job that keeps what was done
    Retry(act::OrderArguments),
    /// Override a step
    #[command(subcommand)]
    Step(act::StepCommand),
    /// Open a gate that steps wait behind
    OpenGate(act::GateArguments),
}

/// Names a job.
#[derive(Debug, Args)]
pub(crate) struct JobArguments {
    /// The job
    #[arg(value_name = "JOB")]
    pub(crate) job: String,
    #[command(flatten)]
    pub(crate) client: ClientFlags,
}

/// The address of a job, as a job of a workspace if one is named.
fn path<'a>(workspace: Option<&'a str>, job: &'a str) -> Vec<&'a str> {
    match workspace {
        Some(workspace) => vec!["v1", "workspaces", workspace, "jobs", job],
        None => vec!["v1", "jobs", job],
    }
}

/// What a new job costs must be there first.
fn short(failure: Failure) -> Failure {
    let next = "grant credits with `stepwell credits grant`, or say a lower --credits-estimate; \
        no job was made";
    failure.advising("credits_short", next)
}

/// What is missing for a new job is its workflow.
pub(super) fn no_workflow(failure: Failure) -> Failure {
    let next =
        "publish the workflow with `stepwell workflow publish`, or see `stepwell workflow list`";
    failure.advising("workflow_not_found", next)
}

pub(crate) async fn run(global: Global, command: JobCommand) -> Result<Exit, Failure> {
    let outcome = match command {
        JobCommand::Create(arguments) => {
            return create::run(global, *arguments).await.map_err(no_workflow).map_err(short);
        }
        JobCommand::List(arguments) => list::run(global, arguments).await,
        JobCommand::Get(arguments) => show::get(global, arguments).await,
        JobCommand::Watch(show::GetArguments { workspace, job: JobArguments { job, client } }) => {
            let (session, api) = global.connected(client)?;
            watch::watch(&session, &api, &job, workspace.given().as_deref()).await
        }
        JobCommand::Explain(arguments) => show::explain(global, arguments).await,
        JobCommand::Steps(arguments) => show::steps(global, arguments).await,
        JobCommand::History(arguments) => show::history(global, arguments).await,
        JobCommand::Cancel(arguments) => act::order(global, arguments, "cancel").await,
        JobCommand::Pause(arguments) => act::on_job(global, arguments, "pause").await,
        JobCommand::Resume(arguments) => act::on_job(global, arguments, "resume").await,
        JobCommand::Retry(arguments) => act::order(global, arguments, "retry").await,
        JobCommand::Step(command) => act::on_step(global, command).await,
        JobCommand::OpenGate(arguments) => act::open_gate(global, arguments).await,
    };
    outcome.map_err(|failure| {
        let again =
            "a job that was given up or cancelled is taken up again with `stepwell job retry`";
        failure
            .suggesting(Exit::NotFound, "run `stepwell job list` to see the jobs you may see")
            .advising("run_ended", again)
    })
}
