//! Making batches, reading them and moving them on.

use expect_test::expect;

use super::site::{Site, steadied};

// A-162, A-130, A-132, A-163: a batch from a list to its end, by hand.
#[test]
fn a_batch_is_made_of_a_list_and_moved_on_from_phase_to_phase() {
    let site = Site::new();
    let batch = site.batch();
    let _worker = site.worker();
    site.run(&["batch", "advance", &batch, "--wait"]).with_code(0);
    site.run(&["batch", "advance", &batch, "--wait"]).with_code(0);
    let ended = site.run(&["batch", "advance", &batch, "--wait"]).with_code(0);
    assert!(ended.stdout.contains("part: completed, 2 done, 0 failed"), "{}", ended.stdout);
    site.run(&["batch", "watch", &batch]).with_code(0);
    expect![[r#"
        batch 1
        runbook hello
        version 1
        status completed
        made manual
        made by first administrator
        detected
        init
        current phase part
        ended
        members 3 (2 succeeded, 1 failed)

        PHASE OFFSET STATUS DUE BEGAN ENDED OPEN DONE FAILED
        greet T-1h completed 0 2 1
        part T-0 completed 0 2 0
    "#]]
    .assert_eq(&steadied(&site.run(&["batch", "get", &batch]).with_code(0).stdout));
    let listed = site.json(&["batch", "list", "--runbook", "hello", "--status", "completed"]);
    assert_eq!((&listed["total"], &listed["items"][0]["is_manual"]), (&1.into(), &true.into()));
    assert_eq!(site.json(&["batch", "list", "--manual=false"])["total"], 0);
    let bob = site.member(&batch, "bob@example.com");
    assert_eq!(bob["status"], "failed");
    assert_eq!(bob["error"]["message"], "nobody answers");
    let steps = site.json(&["batch", "steps", &batch, "--status", "failed"]);
    assert_eq!(steps["items"][0]["member_key"], "bob@example.com");
    let init = site.json(&["batch", "steps", &batch, "--init"]);
    assert_eq!(init["items"][0]["step_name"], "open");
    assert_eq!(site.json(&["batch", "phases", &batch])["items"][1]["status"], "completed");
}

// X-082: every line that is wrong is named, and nothing is made.
#[test]
fn a_wrong_list_makes_nothing_and_names_its_lines() {
    let site = Site::new();
    site.file("wave.csv", "Mail\nann@example.com\nann@example.com\n\"\"\n");
    let ended = site.run(&["batch", "create", "hello", "wave.csv"]).with_code(7);
    let told: Vec<&str> = ended.stderr.lines().filter(|line| !line.contains("request:")).collect();
    expect![[r#"
        error: wave.csv: 2 problems, the first: 3:1: Mail: "ann@example.com" is already on line 2; name each member once
          wave.csv:3:1: Mail: "ann@example.com" is already on line 2; name each member once
          wave.csv:4:1: Mail: the key is empty; give every member a key, and remove lines that are empty
          next: correct these lines; `stepwell template download` gives a list with every column"#]].assert_eq(&told.join("\n"));
    assert_eq!(site.json(&["batch", "list"])["total"], 0);
}

#[test]
fn a_plan_shows_every_job_before_anything_is_made() {
    let site = Site::new();
    site.file("wave.csv", super::site::WAVE);
    let start = "2030-01-01T00:00:00Z";
    let plan = ["batch", "create", "hello", "wave.csv", "--plan"];
    let told = site.run(&[&plan[..], &["--start", start]].concat()).with_code(0);
    expect![[r#"
        hello v1: T-0

        PHASE OFFSET DUE STATUS STEP POOL FUNCTION TRIED AGAIN JOBS
        (init) open greeters Open 1
        greet T-1h pending say-hello greeters Greet 3
        part T-0 pending say-bye greeters Bye 3

        3 members, 3 steps, 7 jobs at least
    "#]]
    .assert_eq(&steadied(&told.stdout));
    assert_eq!(site.json(&plan)["totals"]["dispatches"], 7);
    assert_eq!(site.json(&["batch", "list"])["total"], 0);
    let batch = site.batch();
    let told = site.run(&["batch", "plan", &batch]).with_code(0).stdout;
    assert!(told.contains("3 members, 3 steps, 7 jobs at least"), "{told}");
}

// A-163, A-113, A-117, X-079: members join and leave a batch that a person made.
#[test]
fn members_join_and_leave() {
    let site = Site::new();
    let batch = site.batch();
    site.file("late.csv", "Mail\ndan@example.com\n");
    let added = site.json(&["batch", "add-members", &batch, "late.csv"]);
    let dan = added["added"][0]["id"].to_string();
    let again = site.run(&["batch", "add-members", &batch, "late.csv"]).with_code(4);
    assert!(again.stderr.contains("dan@example.com"), "{}", again.stderr);
    let removed = site.json(&["batch", "remove-member", &batch, &dan]);
    assert_eq!(removed["status"], "removed");
    site.run(&["batch", "remove-member", &batch, &dan]).with_code(0);
    let missing = site.run(&["batch", "remove-member", &batch, "999"]).with_code(3);
    assert!(missing.stderr.contains("next: see `stepwell batch members`"), "{}", missing.stderr);
    let listed = site.json(&["batch", "members", &batch, "--status", "active", "--limit", "2"]);
    assert_eq!((listed["total"].as_u64(), listed["items"].as_array().unwrap().len()), (Some(3), 2));
}

// A-162, X-017: a batch is held, let go and stopped, with who and why.
#[test]
fn a_batch_is_held_let_go_and_cancelled_with_a_reason() {
    let site = Site::new();
    let batch = site.batch();
    let held = site.json(&["batch", "pause", &batch, "--reason", "freeze"]);
    assert_eq!(held["paused"], true);
    assert_eq!(site.json(&["batch", "resume", &batch])["paused"], false);
    let refused = site.run(&["batch", "move", &batch, "2030-01-01T00:00:00Z"]).with_code(4);
    assert!(refused.stderr.contains("next: move it on with `stepwell batch advance`"));
    assert_eq!(site.json(&["batch", "cancel", &batch])["status"], "cancelled");
    site.run(&["batch", "cancel", &batch]).with_code(0);
    site.run(&["batch", "advance", &batch]).with_code(4);
    let told = site.run(&["batch", "events", &batch]).with_code(0).stdout;
    assert!(told.contains("reason=freeze"), "{told}");
    let told = site.run(&["batch", "explain", &batch]).with_code(0).stdout;
    assert!(told.contains("cancelled"), "{told}");
}

#[test]
fn a_batch_that_is_not_there_can_be_looked_for() {
    let site = Site::new();
    for command in ["get", "advance", "plan", "explain", "phases", "steps", "events", "watch"] {
        let ended = site.run(&["batch", command, "99"]).with_code(3);
        assert!(
            ended.stderr.contains("next: see `stepwell batch list`"),
            "{command}: {}",
            ended.stderr
        );
    }
}
