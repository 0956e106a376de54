//! One reader for both formats, and what it says.

use expect_test::{Expect, expect};
use serde_json::json;

use super::*;
use crate::problem::Problems;
use crate::yaml;

#[derive(Debug, PartialEq)]
struct Sample {
    name: String,
    attempts: u32,
    mode: Option<&'static str>,
    steps: Vec<String>,
    wait: Option<Interval>,
}

/// A reader as a dialect would write it; the same for both formats.
fn read<T: Tree>(root: &T) -> Result<Sample, Problems> {
    let report = Report::new();
    let sample = Field::root(root, &report).fields().and_then(|mut fields| {
        let name = fields.required("name").and_then(|name| name.text_within(1..=8));
        let attempts = fields.optional_integer("attempts", 1..=10_u32);
        let mode = fields
            .optional("mode")
            .and_then(|mode| mode.word(&[("DEFAULT", "default"), ("BURST", "burst")]));
        let mut steps = Vec::new();
        for step in fields.list("steps") {
            if let Some(mut step) = step.fields() {
                steps.extend(step.required_str("id").map(str::to_owned));
                step.optional_bool("optional");
                step.finish();
            }
        }
        let retry = fields.optional_fields("retry");
        let wait = retry.and_then(|mut retry| {
            let wait = retry.optional_interval("interval");
            retry.finish();
            wait
        });
        fields.finish();
        Some(Sample { name: name?.to_owned(), attempts: attempts.unwrap_or(3), mode, steps, wait })
    });
    report.finish(sample)
}

#[track_caller]
fn check_yaml(text: &str, expected: Expect) {
    let node = yaml::read(text.as_bytes()).unwrap();
    expected.assert_eq(&match read(&node) {
        Ok(sample) => format!("{sample:?}"),
        Err(problems) => problems.in_file("sample.yaml").to_string(),
    });
}

#[track_caller]
fn check_json(value: &Value, expected: Expect) {
    expected.assert_eq(&match read(value) {
        Ok(sample) => format!("{sample:?}"),
        Err(problems) => problems.to_string(),
    });
}

#[track_caller]
fn check_parse(text: impl AsRef<[u8]>, expected: Expect) {
    expected.assert_eq(&match parse_json(text.as_ref()) {
        Ok(value) => value.to_string(),
        Err(problem) => format!("[{}] {problem}", problem.code),
    });
}

#[test]
fn a_sound_document_is_read_without_a_word() {
    check_yaml(
        "name: 1.10\nattempts: 5\nmode: BURST\nsteps: [{id: a, optional: true}]\nretry:\n  interval: 90s\n",
        expect![[
            r#"Sample { name: "1.10", attempts: 5, mode: Some("burst"), steps: ["a"], wait: Some(Interval(90000)) }"#
        ]],
    );
}

#[test]
fn every_problem_of_a_document_is_reported_at_its_place() {
    check_yaml(
        "nam: x\nattempts: 0\nmode: brust\nsteps:\n  - idd: a\n  - id: ''\n    optional: yes\n  - 1.5\n\
         retry:\n  interval: 5 min\n  color: red\n",
        expect![[r#"
            sample.yaml:1:1: name: this field is required
            sample.yaml:1:1: nam: there is no field "nam"; did you mean "name"?
            sample.yaml:2:11: attempts: 0 is out of range; use 1 to 10
            sample.yaml:3:7: mode: "brust" is not possible here; did you mean "BURST"?
            sample.yaml:5:5: steps[0].id: this field is required
            sample.yaml:5:5: steps[0].idd: there is no field "idd"; did you mean "id"?
            sample.yaml:6:9: steps[1].id: this text must not be empty
            sample.yaml:7:15: steps[1].optional: this must be true or false, not text
            sample.yaml:8:5: steps[2]: this must be an object, not a decimal number
            sample.yaml:10:13: retry.interval: "5 min" is not a duration: what follows the number is not a unit; write a whole number and one of ms, s, m, h or d, without spaces, such as 30s or 15m
            sample.yaml:11:3: retry.color: there is no field "color"; known fields are interval"#]],
    );
}

#[test]
fn the_same_reader_reads_json_but_guesses_no_types() {
    check_json(
        &json!({"name": "x", "attempts": 2, "steps": [{"id": "a"}], "mode": null}),
        expect![[r#"Sample { name: "x", attempts: 2, mode: None, steps: ["a"], wait: None }"#]],
    );
    check_json(
        &json!({"name": 5, "attempts": "2", "steps": {"id": "a"}, "retry": {"interval": 30}, "zzz": 1}),
        expect![[r#"
            name: this must be text, not a number
            attempts: this must be a whole number, not text
            steps: this must be a list, not an object
            retry.interval: this must be a duration such as 30s, not a number
            zzz: there is no field "zzz"; known fields are name, attempts, mode, steps, retry"#]],
    );
    check_json(&json!([1]), expect!["this must be an object, not a list"]);
    check_json(
        &json!({"name": "too long a name", "attempts": 1e30}),
        expect![[r#"
            name: this text has 15 characters; write 1 to 8
            attempts: this must be a whole number, not a decimal number"#]],
    );
    check_json(
        &json!({"name": "x", "attempts": -1}),
        expect!["attempts: -1 is out of range; use 1 to 10"],
    );
}

#[test]
fn a_newer_sender_may_say_more_than_we_know() {
    let value = json!({"name": "x", "future": 1});
    let report = Report::new();
    let mut fields = Field::root(&value, &report).fields().unwrap();
    let name = fields.required_str("name");
    let warnings: Vec<String> = fields.unknown().map(|problem| problem.to_string()).collect();
    assert_eq!(warnings, [r#"future: there is no field "future"; known fields are name"#]);
    fields.ignore_unknown();
    assert_eq!(report.finish(name), Ok("x"));
}

#[test]
fn numbers_and_free_keys_are_read_too() {
    let node = yaml::read(b"factor: 1.5\nparams: {a b: 1, c: x}\nfar: 9.5\n").unwrap();
    let report = Report::new();
    let mut fields = Field::root(&node, &report).fields().unwrap();
    assert_eq!(fields.required("factor").unwrap().number(1.0..=2.0), Some(1.5));
    assert_eq!(fields.required("far").unwrap().number(1.0..=2.0), None);
    let params = fields.required("params").unwrap();
    assert_eq!(params.json(), json!({"a b": 1, "c": "x"}));
    let paths: Vec<String> =
        params.entries().unwrap().iter().map(|(_, field)| field.path().to_owned()).collect();
    assert_eq!(paths, [r#"params["a b"]"#, "params.c"]);
    fields.finish();
    expect!["3:6: far: 9.5 is out of range; use 1 to 2"]
        .assert_eq(&report.finish(Some(())).unwrap_err().to_string());
}

#[test]
fn json_is_read_as_it_is() {
    check_parse(
        r#" {"a": [1, -2, 1.5, null, true, "é\u00e9"], "b": {}} "#,
        expect![[r#"{"a":[1,-2,1.5,null,true,"éé"],"b":{}}"#]],
    );
}

#[test]
fn json_with_a_fault_is_refused_with_its_place() {
    check_parse("", expect!["[json_syntax] 1:1: this is not JSON: EOF while parsing a value"]);
    check_parse(
        "{\"a\": [1,\n 2,, 3]}",
        expect!["[json_syntax] 2:4: a[2]: this is not JSON: expected value"],
    );
    check_parse("{} {}", expect!["[json_syntax] 1:4: this is not JSON: trailing characters"]);
    check_parse("{\"n\": NaN}", expect!["[json_syntax] 1:7: n: this is not JSON: expected value"]);
    check_parse(
        "{\"n\": 1e400}",
        expect!["[json_syntax] 1:11: n: this is not JSON: number out of range"],
    );
    check_parse(
        r#"{"s": "\ud800"}"#,
        expect!["[json_syntax] 1:14: s: this is not JSON: unexpected end of hex escape"],
    );
    check_parse(
        b"{\"s\": \"\xff\"}",
        expect![
            "[not_utf8] 1:8: the text is not UTF-8 from here on; save or send it with UTF-8 encoding"
        ],
    );
}

#[test]
fn a_key_given_twice_is_refused_at_any_depth() {
    check_parse(
        r#"{"a": 1, "a": 2}"#,
        expect![[r#"[duplicate_key] 1:12: the key "a" appears twice in this object"#]],
    );
    check_parse(
        r#"{"list": [0, {"b": 1, "\u0062": 2}]}"#,
        expect![[r#"[duplicate_key] 1:30: list[1]: the key "b" appears twice in this object"#]],
    );
}

#[test]
fn deep_json_is_refused_while_it_is_read() {
    let nested = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(parse_json(nested(32).as_bytes()).is_ok());
    let problem = parse_json(nested(33).as_bytes()).unwrap_err();
    assert_eq!(problem.code, "too_deep");
    assert_eq!(problem.position, Some(Position { line: 1, column: 34 }));
    assert_eq!(parse_json("[".repeat(1_000_000).as_bytes()).unwrap_err().code, "too_deep");
}

#[test]
fn the_inside_of_a_value_is_found_by_walking_and_by_pointer() {
    let report = Report::new();
    let value = json!({"a/b": [1, {"x": "y"}], "c": {}, "d": null});
    let root = Field::root(&value, &report);
    let paths = |fields: Vec<Field<'_, Value>>| -> Vec<String> {
        fields.iter().map(|field| field.path().to_owned()).collect()
    };
    assert_eq!(paths(root.leaves()), [r#"["a/b"][0]"#, r#"["a/b"][1].x"#, "c", "d"]);
    assert_eq!(root.nearest("/a~1b/1/x").path(), r#"["a/b"][1].x"#);
    assert_eq!(root.nearest("/c/missing/deeper").path(), "c", "as far as the way leads");
    assert_eq!(root.nearest("").path(), "");
}
