//! What a worker is given for a step of a job: the directive that all workers know, the message that
//! started the attempt, and what makes a repetition of the step harmless.

use serde::Serialize;
use serde_json::{Map, Value};
use stepwell_core::id::StepIndex;
use stepwell_core::run::Run;

use super::context;
use super::envelope::{self, Message};
use super::job_id::JobId;
use crate::commands::directive::{self, CallbackUrls, DirectiveMessage};

/// A directive of a job.
#[derive(Clone, Debug, Serialize)]
pub struct JobDirective<'a> {
    /// as workers of every dialect know it
    #[serde(flatten)]
    pub directive: DirectiveMessage<'a>,
    /// what this dialect adds
    #[serde(flatten)]
    pub job: JobPart<'a>,
}

/// What this dialect adds to a directive.
#[derive(Clone, Debug, Serialize)]
pub struct JobPart<'a> {
    /// the message that started the attempt (C-025)
    pub message: Message,
    /// the place of the step, counted from 0
    pub step_index: u16,
    /// the same for every repetition of the step, whatever the attempt: whoever passes it on does
    /// nothing twice
    pub idempotency_key: String,
    /// where large data lies, by name
    pub references: Option<&'a Map<String, Value>>,
}

/// Renders the directive of the step's attempt under way; `None` if none is.
#[must_use]
pub fn render<'a>(
    run: &'a Run,
    step: StepIndex,
    callback_urls: &'a CallbackUrls,
) -> Option<JobDirective<'a>> {
    let directive = directive::render(run, step, callback_urls)?;
    Some(JobDirective { directive, job: part(run, step) })
}

/// What this dialect adds to the directive of a step.
#[must_use]
pub fn part(run: &Run, step: StepIndex) -> JobPart<'_> {
    JobPart {
        message: envelope::message(run),
        step_index: step.0,
        idempotency_key: step_key(JobId::of(run.id()), step),
        references: context::references(&run.header),
    }
}

/// What makes a repetition of a step recognizable.
#[must_use]
pub fn step_key(job: JobId, step: StepIndex) -> String {
    format!("{job}:{}", step.0)
}
