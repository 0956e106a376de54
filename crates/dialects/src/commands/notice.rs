//! The end of a job, as a CloudEvent to every callback URL of its envelope.

use serde_json::{Map, Value, json};
use stepwell_core::definition::Part;
use stepwell_core::run::Run;

use super::{context, status};
use crate::notice::Notice;

const EVENT_TYPE: &str = "stepwell.job.completed.v1";
const SOURCE: &str = "stepwell";

/// One message for each callback URL of a job that has ended.
///
/// A compensation carries its job's URLs too, but its end is not the job's: nobody is told of it.
#[must_use]
pub fn notices(run: &Run) -> Vec<Notice> {
    if !run.status.is_terminal() || run.header.part != Part::Main {
        return Vec::new();
    }
    let urls: Vec<&str> = context::callback_urls(&run.header).collect();
    if urls.is_empty() {
        return Vec::new();
    }
    let body = Value::Object(event(run));
    urls.into_iter().map(|url| Notice { url: url.to_owned(), body: body.clone() }).collect()
}

fn event(run: &Run) -> Map<String, Value> {
    let header = &*run.header;
    let job = header.id.to_string();
    let data = json!({
        "jobId": job,
        "tenant_id": header.tenant.as_str(),
        "protocol_id": header.workflow.name,
        "request_type": context::request_type(header),
        "status": status::job(run.status),
        "output_ref": context::output_ref(header),
        "correlation_id": header.correlation_id,
        "error": run.error.as_deref(),
    });
    let mut event = Map::new();
    let mut set = |key: &str, value: Value| event.insert(key.to_owned(), value);
    set("specversion", "1.0".into());
    set("type", EVENT_TYPE.into());
    set("source", SOURCE.into());
    // The version makes the id the same however often the notice is sent.
    set("id", format!("{job}:{}", run.version).into());
    set("time", run.ended_at.unwrap_or(run.updated_at).to_string().into());
    set("subject", job.into());
    set("datacontenttype", "application/json".into());
    if let Some(traceparent) = &header.traceparent {
        set("traceparent", traceparent.as_str().into());
    }
    set("data", data);
    event
}
