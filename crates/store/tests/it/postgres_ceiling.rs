//! The ceiling of PostgreSQL: it writes what a commit writes.

use stepwell_store::postgres::ceiling;

use crate::postgres::Place;

#[tokio::test]
async fn the_ceiling_is_measured_with_whole_step_completions() {
    let Some(place) = Place::fresh() else { return };
    let found = ceiling(&place.url, 300, 32).await.unwrap();
    assert!(found.steps_per_second > 0.0);
    assert!(!found.flush.is_zero());
    let count = |sql: &str| place.query(sql);
    assert_eq!(count("SELECT count(*) FROM run WHERE status = 'succeeded'"), ["100"]);
    assert_eq!(count("SELECT count(*) FROM step WHERE status = 'succeeded'"), ["300"]);
    assert_eq!(count("SELECT count(*) FROM history"), ["400"]);
    assert_eq!(count("SELECT sum(open) FROM tenant_load"), ["0"]);
}
