//! The end of a job, as a CloudEvent to its callback URL.

use serde_json::json;
use stepwell_core::run::Run;

use super::{context, status};
use crate::notice::{Notice, ended, event};

/// The message to the callback URL of a job that has ended, if it has one.
#[must_use]
pub fn notices(run: &Run) -> Vec<Notice> {
    let header = &*run.header;
    let Some(url) = context::callback_url(header).filter(|_| ended(run)) else {
        return Vec::new();
    };
    let data = json!({
        "job_id": header.id.to_string(),
        "workflow_id": header.workflow.name,
        "status": status::job(run.status),
        "message_id": context::message_id(header),
        "correlation_id": header.correlation_id,
        "idempotency_key": context::idempotency_key(header),
        "error": run.error.as_deref(),
    });
    vec![Notice { url: url.to_owned(), body: event(run, data) }]
}
