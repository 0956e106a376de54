//! From detection to the end.

use serde_json::json;
use stepwell_core::batch::{BatchStatus, PhaseStatus};
use stepwell_core::step::Outcome;

use super::world::{DAY_MS, Place, RUNBOOK, START_MS, done, params, phase};

#[tokio::test]
async fn a_batch_is_prepared_goes_through_its_phases_in_time_and_ends() {
    //
    let place = Place::new().await;
    place.publish(RUNBOOK).await;
    let id = place.batch(&["ada"]).await;
    assert_eq!(place.get(id).await.status, BatchStatus::InitDispatched);
    let announce = place.does("Announce", done(json!(null))).await;
    assert_eq!(params(&announce), json!({ "batch": id.0 }));
    place.until(id, |batch| batch.status == BatchStatus::Active).await;

    place.at(START_MS - 5 * DAY_MS);
    place.until(id, |batch| phase(batch, "prepare") == PhaseStatus::Dispatched).await;
    place.does("Create", done(json!({ "target": "t-1" }))).await;
    let copy = place.does("Copy", Outcome::Incomplete).await;
    assert_eq!(params(&copy), json!({ "to": "t-1" }));
    place.world.clock.advance(std::time::Duration::from_secs(61));
    place.does("Copy", done(json!(true))).await;
    let batch = place.until(id, |batch| phase(batch, "prepare") == PhaseStatus::Completed).await;
    assert_eq!(phase(&batch, "cutover"), PhaseStatus::Pending);

    place.at(START_MS);
    let switch = place.does("Switch", done(json!(true))).await;
    assert_eq!(params(&switch)["at"], "2025-03-20T12:00:00.000Z");
    let batch = place.until(id, |batch| batch.status.is_terminal()).await;
    assert_eq!(batch.status, BatchStatus::Completed);
    assert!(batch.is_settled());
}
