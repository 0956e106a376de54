//! `stepwell validate`, as a pipeline sees it.

use expect_test::{Expect, expect};

use crate::program::{program, run};

const SOUND: &str = "name: sound\nsteps:\n  - {id: a, type: A, pool: p}\n";
const FAULTY: &str = "\
name: Faulty
retries: 3
steps:
  - id: fetch
    type: FETCH
    pool: p
    after: [fetchh]
    timeout: 5 minutes
";

#[track_caller]
fn check(files: &[(&str, &str)], arguments: &[&str], code: i32, expected: Expect) {
    let home = tempfile::tempdir().expect("there is room for a directory");
    for (name, text) in files {
        std::fs::write(home.path().join(name), text).expect("there is room for a file");
    }
    let names = files.iter().map(|(name, _)| *name);
    let ended = run(program(home.path()).arg("validate").args(names).args(arguments));
    let ended = ended.with_code(code);
    expected.assert_eq(&format!("{}---\n{}", ended.stdout, ended.stderr));
}

// X-145: every problem of a document is listed at once, with its place.
#[test]
fn every_problem_is_a_line_that_an_editor_can_jump_to() {
    check(
        &[("sound.yaml", SOUND), ("faulty.yaml", FAULTY)],
        &[],
        7,
        expect![[r#"
            sound.yaml: ok: workflow "sound", 1 step
            faulty.yaml:1:7: name: "Faulty" cannot be used here; use lower-case letters, digits, '.', '_' and '-', and begin with a letter or a digit
            faulty.yaml:2:1: retries: there is no field "retries"; known fields are name, description, request_type, cancel, on_step_failure, run_retry, credits, retry, timeout, input_schema, steps, compensations
            faulty.yaml:7:13: steps[0].after[0]: there is no step "fetchh"; did you mean "fetch"?
            faulty.yaml:8:14: steps[0].timeout: "5 minutes" is not a duration: what follows the number is not a unit; write a whole number and one of ms, s, m, h or d, without spaces, such as 30s or 15m
            ---
            error: there are 4 problems, listed above
              next: correct them
        "#]],
    );
}

const RUNBOOK: &str = "\
name: wave
data_source: {type: csv, connection: MEMBERS, primary_key: Mail, batch_time_column: Date}
phases:
  - name: announce
    offset: T-5d
    steps: [{name: tell, worker_id: mail, function: Send, params: {To: '{{Mail}}'}}]
  - name: cutover
    offset: T-0
    owner: ops
    steps:
      - {name: move, worker_id: w, function: Move}
      - {name: check, worker_id: w, function: Check}
";

// A-015: a key that nobody knows is ignored, and a warning says so.
#[test]
fn a_runbook_is_recognized_and_its_timeline_shown() {
    let faulty = RUNBOOK.replace("T-5d", "T-5").replace("  - name: cutover", "  - name: announce");
    check(
        &[("wave.yaml", RUNBOOK), ("faulty.yaml", &faulty)],
        &[],
        7,
        expect![[r#"
        wave.yaml:9:5: warning: phases[1].owner: there is no field "owner", and it is ignored; known fields are name, offset, steps
        wave.yaml: ok: runbook "wave", 2 phases (T-5d, T-0), 3 steps a member
        faulty.yaml:5:13: phases[0].offset: "T-5" is not an offset: it has no unit; write T-0, or T- (before) or T+ (after) with a whole number and one of d, h, m or s, such as T-5d, T-30m or T+2h
        faulty.yaml:7:11: phases[1].name: two phases are called "announce"; the first one is at 4:11; rename one of them
        faulty.yaml:9:5: phases[1].owner: there is no field "owner", and it is ignored; known fields are name, offset, steps
        ---
        error: there are 3 problems, listed above
          next: correct them
    "#]],
    );
}

// A-015
#[test]
fn a_warning_alone_is_no_failure() {
    check(
        &[("wave.yaml", RUNBOOK)],
        &["--output", "json"],
        0,
        expect![[r#"
        {
          "files": [
            {
              "file": "wave.yaml",
              "kind": "runbook",
              "name": "wave",
              "phases": 2,
              "problems": [],
              "steps": 3,
              "valid": true,
              "warnings": [
                {
                  "code": "unknown_field",
                  "column": 5,
                  "help": "known fields are name, offset, steps",
                  "line": 9,
                  "message": "there is no field \"owner\", and it is ignored",
                  "path": "phases[1].owner"
                }
              ]
            }
          ],
          "problems": 0
        }
        ---
    "#]],
    );
}

#[test]
fn sound_documents_pass_in_silence_on_standard_error() {
    check(
        &[("sound.yaml", SOUND)],
        &[],
        0,
        expect![[r#"
        sound.yaml: ok: workflow "sound", 1 step
        ---
    "#]],
    );
}

#[test]
fn a_program_gets_the_problems_as_json() {
    check(
        &[("faulty.yaml", "name: x\nsteps: []\n")],
        &["--output", "json"],
        7,
        expect![[r#"
            {
              "files": [
                {
                  "file": "faulty.yaml",
                  "kind": "workflow",
                  "problems": [
                    {
                      "code": "out_of_range",
                      "column": 8,
                      "help": "write 1 to 1000",
                      "line": 2,
                      "message": "there are 0 steps",
                      "path": "steps"
                    }
                  ],
                  "valid": false
                }
              ],
              "problems": 1
            }
            ---
            {"error":{"code":"invalid_input","details":[],"exit_code":7,"message":"there is 1 problem, listed above","next":"correct it","request_id":null}}
        "#]],
    );
}

#[test]
fn a_file_that_is_not_there_is_not_found() {
    let home = tempfile::tempdir().unwrap();
    let ended = run(program(home.path()).args(["validate", "nowhere.yaml"])).with_code(3);
    assert!(ended.stderr.contains("nowhere.yaml could not be read"), "{}", ended.stderr);
}

#[test]
fn the_protocol_of_the_demo_and_every_example_are_sound() {
    let home = tempfile::tempdir().unwrap();
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = vec![root.join("crates/stepwell/src/demo/invoice-intake.yaml")];
    for folder in ["examples/workflows", "examples/runbooks", "examples/workspaces"] {
        let entries = std::fs::read_dir(root.join(folder)).unwrap();
        let is_document =
            |path: &std::path::PathBuf| path.extension().is_some_and(|it| it == "yaml");
        files.extend(entries.map(|entry| entry.unwrap().path()).filter(is_document));
    }
    run(program(home.path()).arg("validate").args(files)).with_code(0);
}
