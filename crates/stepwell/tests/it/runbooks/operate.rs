//! One thing done to many, with a result for each.

use expect_test::expect;

use super::site::Site;

// A-165: orders by filter, tried first, with a row for each item.
#[test]
fn an_order_is_tried_carried_out_and_answered_for_each() {
    let site = Site::new();
    let batch = site.batch();
    let order = ["batch", "operate", &batch, "skip", "--phase", "part", "--reason", "not needed"];
    let tried = site.run(&[&order[..], &["--dry-run"]].concat()).with_code(0);
    expect![[r#"
        MEMBER  KEY              STEP    OUTCOME  CODE  WHY
        1       ann@example.com  65537   would
        2       bob@example.com  131073  would
        3       cat@example.com  196609  would
    "#]]
    .assert_eq(&tried.stdout);
    assert_eq!(tried.stderr, "3 would\n");
    let done = site.json(&[&order[..], &["--key", "ann@example.com"]].concat());
    assert_eq!(done["results"].as_array().unwrap().len(), 1);
    assert_eq!(done["results"][0]["outcome"], "done");
    let steps = site.json(&["batch", "steps", &batch, "--phase", "part"]);
    assert_ne!(steps["items"][0]["status"], "pending", "{steps}");
    assert_eq!(steps["items"][1]["status"], "pending", "{steps}");
}

#[test]
fn what_is_refused_is_told_for_each_and_by_the_exit_code() {
    let site = Site::new();
    let batch = site.batch();
    let order = ["batch", "operate", &batch, "rollback", "--phase", "part", "--reason", "why not"];
    let ended = site.run(&order).with_code(4);
    assert!(ended.stdout.contains("refused"), "{}", ended.stdout);
    assert!(ended.stderr.contains("3 refused"), "{}", ended.stderr);
    let everybody = ["batch", "operate", &batch, "cancel", "--reason", "tired"];
    let ended = site.run(&everybody).with_code(7);
    assert!(ended.stderr.contains("every member of the batch"), "{}", ended.stderr);
}

#[test]
fn more_than_fifty_need_a_yes() {
    let site = Site::new();
    let members: String = (1..=51).map(|number| format!("m{number}@example.com\n")).collect();
    site.file("many.csv", &format!("Mail\n{members}"));
    let batch = site.json(&["batch", "create", "hello", "many.csv"])["id"].to_string();
    let order = ["batch", "operate", &batch, "skip", "--step", "say-bye", "--reason", "not needed"];
    let ended = site.run(&order).with_code(4);
    expect![[r#"
        error: this would be done to 51 items; nothing was done
          next: look at them with --dry-run, then say --yes or narrow the filter
    "#]]
    .assert_eq(&ended.stderr);
    let done = site.json(&[&order[..], &["--yes"]].concat());
    assert_eq!(done["results"].as_array().unwrap().len(), 51);
}
