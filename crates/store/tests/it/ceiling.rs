//! The ceiling: it writes what a commit writes.

use rusqlite::Connection;
use stepwell_store::sqlite::ceiling;

#[test]
fn the_ceiling_is_measured_with_whole_step_completions() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ceiling.db");
    let found = ceiling(&path, 300, 32).unwrap();
    assert!(found.steps_per_second > 0.0);
    assert!(!found.flush.is_zero());

    let db = Connection::open(&path).unwrap();
    let count = |sql: &str| db.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(count("SELECT count(*) FROM run WHERE status = 'succeeded'"), 100);
    assert_eq!(count("SELECT count(*) FROM step WHERE status = 'succeeded'"), 300);
    assert_eq!(count("SELECT count(*) FROM history"), 400);
    assert_eq!(count("SELECT sum(open) FROM tenant_load"), 0);
}
