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
        faulty.yaml:2:1: retries: there is no field "retries"; known fields are name, description, request_type, cancel, on_step_failure, run_retry, retry, timeout, input_schema, steps, compensations
        faulty.yaml:7:13: steps[0].after[0]: there is no step "fetchh"; did you mean "fetch"?
        faulty.yaml:8:14: steps[0].timeout: "5 minutes" is not a duration: what follows the number is not a unit; write a whole number and one of ms, s, m, h or d, without spaces, such as 30s or 15m
        ---
        error: there are 4 problems, listed above
          next: correct them
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
    for entry in std::fs::read_dir(root.join("examples/workflows")).unwrap() {
        files.push(entry.unwrap().path());
    }
    run(program(home.path()).arg("validate").args(files)).with_code(0);
}
