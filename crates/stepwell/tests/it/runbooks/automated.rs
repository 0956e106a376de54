//! Batches that the scheduler makes of what a source returns.

use expect_test::expect;

use super::site::{HELLO, Site, steadied};

const SOURCE: &str = "Mail,Start
ann@example.com,2090-01-01T00:00:00Z
zoe@example.com,2090-01-01T00:00:00Z
,2090-01-01T00:00:00Z
";

// A-161, X-087, X-057: what a pass would find is shown, and nothing is made of it.
#[test]
fn a_preview_shows_batches_and_the_rows_that_are_passed_over() {
    let site = Site::with_source(SOURCE);
    let told = site.run(&["query", "preview", "hello"]).with_code(0);
    expect![[r#"
        3 rows; as batches:
        T-0 MEMBERS NEW KNOWN IS BATCH
        2 2 0

        ROW KEY PASSED OVER BECAUSE
        3 "Mail" is empty

        Mail Start
        ann@example.com 2090-01-01T00:00:00Z
        zoe@example.com 2090-01-01T00:00:00Z
        2090-01-01T00:00:00Z
    "#]]
    .assert_eq(&steadied(&told.stdout));
    assert_eq!(site.json(&["batch", "list"])["total"], 0);
}

// A-161, A-125, X-079: enabled, the source is asked at once; a new version is followed; T-0 moves.
#[test]
fn a_batch_that_made_itself_follows_versions_and_is_moved_but_keeps_its_members() {
    let site = Site::with_source(SOURCE);
    let _worker = site.worker();
    site.run(&["automation", "enable", "hello"]).with_code(0);
    let batch = first_batch(&site);
    site.run(&["batch", "watch", &batch, "--until", "init"]).with_code(0);

    site.file("hello.yaml", &HELLO.replace("T-1h", "T-2h"));
    let planned = site.json(&["runbook", "plan", "hello.yaml"]);
    assert_eq!(planned["batches"][0]["batch_id"].to_string(), batch);
    let told = site.run(&["runbook", "plan", "hello.yaml"]).with_code(0).stdout;
    assert!(told.contains("greet  1        pending  superseded"), "{told}");
    let told = site.run(&["runbook", "publish", "hello.yaml"]).with_code(0).stdout;
    assert!(told.contains(&format!("followed by batches under way: {batch}")), "{told}");

    let moved = site.json(&["batch", "move", &batch, "2091-01-01T00:00:00Z", "--reason", "late"]);
    assert_eq!(moved["batch_start_time"], "2091-01-01T00:00:00.000Z");
    assert_eq!(moved["next_due"]["due_at"], "2090-12-31T22:00:00.000Z");
    let told = site.run(&["batch", "list"]).with_code(0).stdout;
    assert!(told.contains("hello v2") && told.contains("greet in"), "{told}");

    site.file("late.csv", "Mail\ndan@example.com\n");
    let refused = site.run(&["batch", "add-members", &batch, "late.csv"]).with_code(4);
    assert!(refused.stderr.contains("gets its members from its data source"), "{}", refused.stderr);
    let refused = site.run(&["batch", "advance", &batch]).with_code(4);
    assert!(refused.stderr.contains("`stepwell batch move`"), "{}", refused.stderr);
}

/// The batch that the scheduler makes once it was asked to.
fn first_batch(site: &Site) -> String {
    // The scheduler tells nobody that it is done; it is asked until it is.
    for _ in 0..600 {
        let listed = site.json(&["batch", "list"]);
        if let Some(batch) = listed["items"].get(0) {
            return batch["id"].to_string();
        }
    }
    panic!("the scheduler made no batch");
}
