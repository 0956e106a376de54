//! Who asked to be told of the end is told.

use serde_json::json;

use super::{DIAMOND, job, submit};
use crate::receiver::{self, Receiver};
use crate::site::Site;

/// A site that may call this machine, for the test.
async fn site() -> Site {
    let site = Site::calling(receiver::policy()).await;
    site.publish(DIAMOND).await;
    site
}

// the callback URL of an order is kept through the queue, and told of the end, signed.
#[tokio::test]
async fn the_callback_url_of_an_order_is_told_of_the_end() {
    let Receiver { address, mut heard } = Receiver::start().await;
    let url = format!("{address}/hook");
    let site = site().await;
    let answer = submit(&site, &json!({"correlation_id": "c-1", "callback_url": url})).await;
    let job = job(&site, "correlation_id=c-1").await;
    let directive = site.lease("io").await;
    site.report(&directive, "FAILED_FINAL").await;
    let event = heard.recv().await.unwrap();
    let data = &event["data"];
    assert_eq!((&data["job_id"], &data["status"]), (&job["job_id"], &json!("failed")));
    assert_eq!(data["message_id"], answer["message_id"]);
    assert_eq!(data["correlation_id"], "c-1");
}
