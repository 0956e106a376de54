//! Following a batch.

use serde_json::Value;

use super::site::Site;

#[test]
fn a_batch_is_followed_line_by_line_and_its_end_is_the_exit_code() {
    let site = Site::new();
    let batch = site.batch();
    let _worker = site.worker();
    site.run(&["batch", "advance", &batch, "--wait"]).with_code(0);
    site.run(&["batch", "advance", &batch]).with_code(0);
    let told = site.run(&["batch", "watch", &batch, "--until", "greet"]).with_code(0).stdout;
    assert!(told.contains("greet: completed, 2 done, 1 failed, 0 open"), "{told}");
    site.run(&["batch", "cancel", &batch]).with_code(0);
    let told = site.run(&["batch", "watch", &batch]).with_code(4).stdout;
    assert!(told.ends_with("cancelled: 0 of 3 members succeeded, 1 failed\n"), "{told}");
}

#[test]
fn as_json_every_change_is_a_line_of_its_own() {
    let site = Site::new();
    let batch = site.batch();
    let _worker = site.worker();
    let told = site.run(&["batch", "advance", &batch, "--wait", "--output", "json"]).with_code(0);
    let lines: Vec<Value> =
        told.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let last = lines.last().unwrap();
    assert_eq!((&last["event"], &last["data"]["status"]), (&"end".into(), &"active".into()));
    assert!(lines[..lines.len() - 1].iter().all(|line| line["event"] == "batch"));
}

#[test]
fn a_phase_that_the_batch_does_not_have_is_refused_with_those_it_has() {
    let site = Site::new();
    let batch = site.batch();
    let ended = site.run(&["batch", "watch", &batch, "--until", "grete"]).with_code(3);
    assert!(ended.stderr.contains("next: its phases are greet, part"), "{}", ended.stderr);
}
