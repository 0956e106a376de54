//! The platform dialect: orders, jobs, nodes.

mod accept;
mod message;
mod notice;
mod request;
mod status;
mod view;

use serde_json::{Map, Value, json};
use stepwell_core::duration::Interval;
use stepwell_core::run::Header;
use stepwell_dialects::moment::Moment;
use stepwell_dialects::platform::queue::TTL;
use stepwell_dialects::platform::{Delivery, JobQueueMessage, Order};
use stepwell_dialects::workflow::Checks;

use crate::world::{run_id, start, workflow};

/// Two branches that join.
const DIAMOND: &str = "
name: raster_ingest
input_schema:
  type: object
  required: [blob_name]
  properties: {blob_name: {type: string}, bands: {type: array, items: {type: integer}}}
steps:
  - {id: fetch, type: FETCH, pool: io, params: {from: \"{{blob_name}}\", job: \"{{_job_id}}\"}}
  - {id: tile, type: TILE, pool: cpu, after: [fetch]}
  - {id: stats, type: STATS, pool: cpu, after: [fetch]}
  - {id: publish, type: PUBLISH, pool: io, after: [tile, stats]}
";

/// A first delivery, with time left.
fn delivery() -> Delivery<'static> {
    Delivery {
        message_id: "m-1",
        received_at: start(),
        expires_at: start().after(TTL),
        deliveries: 1,
    }
}

/// A message with nothing wrong.
fn message() -> JobQueueMessage {
    JobQueueMessage {
        workflow_id: "raster_ingest".to_owned(),
        input_params: input(&json!({"blob_name": "data/file.tif"})),
        correlation_id: Some("ddh-req-12345".to_owned()),
        submitted_by: Some("ddh-gateway".to_owned()),
        callback_url: Some("https://ddh.example/done".to_owned()),
        idempotency_key: Some("ddh-12345".to_owned()),
        priority: 3,
        submitted_at: Moment(start()),
        message_id: "m-1".to_owned(),
    }
}

fn input(value: &Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

/// The header of the job that a message asks for, a second later.
#[track_caller]
fn accepted(message: JobQueueMessage) -> Header {
    let workflow = workflow(DIAMOND);
    let checks = Checks::compile(&workflow).unwrap();
    let now = start().after(Interval::from_secs(1));
    Order::from(message).header(run_id(1), &workflow, &checks, now).unwrap().0
}
