//! The end of a job, as a CloudEvent to every callback URL of its envelope.

use serde_json::json;
use stepwell_core::run::Run;

use super::{context, status};
use crate::notice::{Notice, ended, event};

/// One message for each callback URL of a job that has ended.
#[must_use]
pub fn notices(run: &Run) -> Vec<Notice> {
    let header = &*run.header;
    let urls: Vec<&str> = context::callback_urls(header).collect();
    if urls.is_empty() || !ended(run) {
        return Vec::new();
    }
    let data = json!({
        "jobId": header.id.to_string(),
        "tenant_id": header.tenant.as_str(),
        "protocol_id": header.workflow.name,
        "request_type": context::request_type(header),
        "status": status::job(run.status),
        "output_ref": context::output_ref(header),
        "correlation_id": header.correlation_id,
        "error": run.error.as_deref(),
    });
    let body = event(run, data);
    urls.into_iter().map(|url| Notice { url: url.to_owned(), body: body.clone() }).collect()
}
