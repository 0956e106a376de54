//! Rehearsals: a week in seconds, without a server.

use std::path::{Path, PathBuf};

use expect_test::expect;
use serde_json::Value;

use crate::program::{Ended, program, run};

/// A runbook of the examples.
fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/runbooks").join(name)
}

fn rehearse(runbook: &Path, arguments: &[&str]) -> Ended {
    let home = tempfile::tempdir().expect("there is room for a directory");
    run(program(home.path()).arg("rehearse").arg(runbook).args(arguments))
}

#[track_caller]
fn summary(runbook: &Path, arguments: &[&str]) -> Value {
    rehearse(runbook, &[arguments, &["--output", "json"]].concat()).with_code(0).json()
}

// A-020, A-092, A-104, A-107: phases begin when they are due, polls, retries and rollbacks run as
// they would.
#[test]
fn a_week_is_rehearsed_in_seconds_and_told_as_a_timeline() {
    let arguments =
        ["--members", "100", "--failure-rate", "0.05", "--failure-rate", "switch-address=0.1"];
    let told = rehearse(&example("mailbox-migration.yaml"), &arguments).with_code(0);
    expect![[r#"
        Rehearsal of mailbox-migration: 100 members, from T-5d1h to T+1d, seed 1

        PHASE     DUE     TOOK   HALF DONE  DONE  FAILED  ATTEMPTS  RETRIES  POLLS
        (init)    T-5d1h  7s                              1         0        0
        announce  T-5d    1m14s  5s         100   0       107       7        0
        prepare   T-4h    1m16s  10s        100   0       206       6        0
        cutover   T-0     1h31m  45m13s     90    10      207       7        321
        verify    T+1d    1m13s  5s         90    0       94        4        0

        POOL       JOBS  AT ONCE  IN BUSIEST MINUTE  WHICH IS  BUSY
        worker-01  519   100      199                T-4h      44m3s
        worker-02  438   100      110                T+45m     15m29s

        SLOWEST MEMBER  TOOK   LONGEST IN
        member-00053    1h32m  cutover (1h31m)
        member-00012    1h31m  cutover (1h31m)
        member-00027    1h31m  cutover (1h31m)
        member-00068    1h31m  cutover (1h31m)
        member-00015    1h31m  cutover (1h31m)

        completed: 90 of 100 succeeded, 10 failed, 10 rolled back
    "#]]
    .assert_eq(&told.stdout);
    assert!(told.stderr.contains("6d1h rehearsed in"), "{}", told.stderr);
}

#[test]
fn the_same_seed_rehearses_the_same_and_another_one_does_not() {
    let runbook = example("mailbox-migration.yaml");
    let of_seed =
        |seed| summary(&runbook, &["--members", "40", "--failure-rate", "0.2", "--seed", seed]);
    let first = of_seed("7");
    assert_eq!(first, of_seed("7"));
    assert_ne!(first["failures"], 0);
    assert_ne!(first["slowest_members"], of_seed("8")["slowest_members"]);
}

#[test]
fn a_pool_with_few_workers_takes_longer() {
    let runbook = example("mailbox-migration.yaml");
    let free = summary(&runbook, &["--members", "30"]);
    let scarce = summary(&runbook, &["--members", "30", "--workers", "worker-01=2"]);
    let announce = |summary: &Value| {
        let phase = &summary["phases"][0];
        phase["ended_s"].as_i64().unwrap() - phase["began_s"].as_i64().unwrap()
    };
    assert!(announce(&free) < 10, "all at once");
    assert!(announce(&scarce) > 60, "thirty jobs of five seconds, two at a time");
    assert_eq!(scarce["pools"][0]["at_once_max"], 2);
    assert_eq!(free["pools"][0]["at_once_max"], 30);
}

#[test]
fn a_step_that_always_fails_fails_the_batch_and_the_exit_code_says_so() {
    let runbook = example("mailbox-migration.yaml");
    let arguments =
        ["--members", "3", "--failure-rate", "create-batch-group=1", "--output", "json"];
    let summary = rehearse(&runbook, &arguments).with_code(1).json();
    assert_eq!(summary["status"], "failed");
    assert_eq!(summary["init"]["attempts"], 3, "max_retries 2 makes three attempts");
}

#[test]
fn the_members_of_a_list_are_rehearsed_by_their_names() {
    let home = tempfile::tempdir().unwrap();
    let runbook = home.path().join("hello.yaml");
    std::fs::write(&runbook, HELLO).unwrap();
    let list = home.path().join("wave.csv");
    std::fs::write(&list, "Mail\nann@example.com\nbob@example.com\n").unwrap();
    let told = summary(&runbook, &[list.to_str().unwrap(), "--start", "2026-08-01T06:00:00Z"]);
    assert_eq!(told["batch_start_time"], "2026-08-01T06:00:00.000Z");
    assert_eq!(told["members"]["succeeded"], 2);
    let mut keys: Vec<&str> = told["slowest_members"]
        .as_array()
        .unwrap()
        .iter()
        .map(|member| member["member_key"].as_str().unwrap())
        .collect();
    keys.sort_unstable();
    assert_eq!(keys, ["ann@example.com", "bob@example.com"]);
}

// X-082: a list that is wrong is refused with its lines, before anything happens.
#[test]
fn a_wrong_list_is_refused_with_every_line_that_is_wrong() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("hello.yaml"), HELLO).unwrap();
    std::fs::write(home.path().join("wave.csv"), "Mail\nann@example.com\n\"\"\nann@example.com\n")
        .unwrap();
    let ended = run(program(home.path()).args(["rehearse", "hello.yaml", "wave.csv"])).with_code(7);
    expect![[r#"
        error: wave.csv is not a list of members
          wave.csv:3:1: Mail: the key is empty; give every member a key, and remove lines that are empty
          wave.csv:4:1: Mail: "ann@example.com" is already on line 2; name each member once
          next: correct it; `stepwell template download` gives a list with every column
    "#]].assert_eq(&ended.stderr);
}

#[test]
fn a_misspelled_step_is_refused_with_what_was_meant() {
    let runbook = example("mailbox-migration.yaml");
    let ended = rehearse(&runbook, &["--duration", "move-mailbx=4m"]).with_code(2);
    expect![[r#"
        error: --duration names "move-mailbx", which the runbook does not have
          next: did you mean "move-mailbox"?
    "#]]
    .assert_eq(&ended.stderr);
    let ended = rehearse(&runbook, &["--failure-rate", "1.5"]).with_code(2);
    assert!(ended.stderr.contains("write a share from 0 to 1"), "{}", ended.stderr);
}

#[test]
fn a_document_that_is_wrong_is_refused_as_validate_does() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("hello.yaml"), HELLO.replace("T-0", "T-5")).unwrap();
    let ended = run(program(home.path()).args(["rehearse", "hello.yaml"])).with_code(7);
    assert!(ended.stderr.contains("hello.yaml:5:13: phases[0].offset:"), "{}", ended.stderr);
}

#[test]
fn the_picture_shows_every_phase_and_failure_and_is_well_formed() {
    let home = tempfile::tempdir().unwrap();
    let picture = home.path().join("timeline.svg");
    let runbook = example("mailbox-migration.yaml");
    let arguments =
        ["--members", "40", "--failure-rate", "0.3", "--svg", picture.to_str().unwrap()];
    rehearse(&runbook, &arguments).with_code(0);
    let svg = std::fs::read_to_string(&picture).unwrap();
    for shown in
        ["announce", "prepare", "cutover", "verify", "T-5d", "class=\"bad\"", "class=\"again\""]
    {
        assert!(svg.contains(shown), "{shown}");
    }
    assert!(svg.contains("prefers-color-scheme: dark"));
    assert_eq!(svg.matches("<text").count(), svg.matches("</text>").count());
    assert!(svg.starts_with("<svg xmlns=") && svg.ends_with("</svg>\n"));
}

const HELLO: &str = "name: hello
data_source: {type: csv, connection: MEMBERS_CSV, primary_key: Mail, batch_time: immediate}
phases:
  - name: greet
    offset: T-0
    steps:
      - {name: say-hello, worker_id: greeters, function: Greet, params: {To: \"{{Mail}}\"}}
";
