//! What is refused in a workflow document, field by field, with line, column and path.

use expect_test::{Expect, expect};
use stepwell_dialects::workflow;

/// Checks one document, as its author reads the answer.
#[track_caller]
pub(crate) fn check(text: &str, expected: Expect) {
    let problems = workflow::read(text.as_bytes()).unwrap_err();
    expected.assert_eq(&problems.to_string());
}

/// Checks several documents that differ in one place: each case, and what is said of it.
#[track_caller]
fn check_each(document: fn(&str) -> String, cases: &[&str], expected: Expect) {
    let mut lines = Vec::new();
    for case in cases {
        lines.push(case.chars().take(100).collect::<String>());
        let problems = workflow::read(document(case).as_bytes()).unwrap_err();
        lines.extend(problems.iter().map(|problem| format!("    {problem}")));
    }
    expected.assert_eq(&(lines.join("\n") + "\n"));
}

/// A document with these fields beside its name and its only step.
#[track_caller]
pub(crate) fn check_top(cases: &[&str], expected: Expect) {
    let document = |case: &str| format!("name: a\nsteps: [{{id: s, type: T, pool: p}}]\n{case}\n");
    check_each(document, cases, expected);
}

/// A document whose only step has these fields beside its id, type and pool.
#[track_caller]
pub(crate) fn check_step(cases: &[&str], expected: Expect) {
    let document =
        |case: &str| format!("name: a\nsteps:\n- id: s\n  type: T\n  pool: p\n  {case}\n");
    check_each(document, cases, expected);
}

/// A document with these steps.
#[track_caller]
pub(crate) fn check_steps(cases: &[&str], expected: Expect) {
    check_each(|case| format!("name: a\nsteps: [{case}]\n"), cases, expected);
}

#[test]
fn all_problems_of_a_document_are_told_at_once() {
    check(
        "
name: Bad Name
cancle: drain
timeout: 5 minutes
retry: {max_attempts: 0, jitter: 200%}
steps:
  - id: fetch
    type: T
  - id: fetch
    type: T
    pool: p
    after: [fetchh]
    on_failure: undoo
compensations:
  undo: []
",
        expect![[r#"
            2:7: name: "Bad Name" cannot be used here; use lower-case letters, digits, '.', '_' and '-', and begin with a letter or a digit
            3:1: cancle: there is no field "cancle"; did you mean "cancel"?
            4:10: timeout: "5 minutes" is not a duration: what follows the number is not a unit; write a whole number and one of ms, s, m, h or d, without spaces, such as 30s or 15m
            5:23: retry.max_attempts: 0 is out of range; use 1 to 1000
            5:34: retry.jitter: this is not a percentage from 0% to 100%; write it as a whole number with a percent sign, such as 20%
            7:5: steps[0].pool: this field is required
            9:9: steps[1].id: two steps have the id "fetch"; the first one is at 7:9
            12:13: steps[1].after[0]: there is no step "fetchh"; did you mean "fetch"?
            13:17: steps[1].on_failure: there is no compensation "undoo"; did you mean "undo"?
            15:9: compensations.undo: there are 0 steps; write 1 to 1000"#]],
    );
}

#[test]
fn a_document_is_one_object_with_a_name_and_steps() {
    let many = format!("name: a\nsteps: [{}]", "{id: s, type: T, pool: p}, ".repeat(1_001));
    let cases =
        ["[]", "{}", "", "name: a\nsteps: {}", "name: a\nsteps: []", "name: a\nsteps: [x]", &many];
    check_each(
        str::to_owned,
        &cases,
        expect![[r#"
        []
            1:1: this must be an object, not a list
        {}
            1:1: name: this field is required
            1:1: steps: this field is required

            the document is empty
        name: a
        steps: {}
            2:8: steps: this must be a list, not an object
        name: a
        steps: []
            2:8: steps: there are 0 steps; write 1 to 1000
        name: a
        steps: [x]
            2:9: steps[0]: this must be an object, not text
        name: a
        steps: [{id: s, type: T, pool: p}, {id: s, type: T, pool: p}, {id: s, type: T, pool: p}, {id
            2:8: steps: there are 1001 steps; write 1 to 1000
    "#]],
    );
}

#[test]
fn names_have_a_form() {
    let long = "a".repeat(65);
    check_each(
        |name| format!("name: {name}\nsteps: [{{id: s, type: T, pool: p}}]"),
        &["[a]", "''", "Intake", "-a", &long],
        expect![[r#"
            [a]
                1:7: name: this must be text, not a list
            ''
                1:7: name: this text must not be empty
            Intake
                1:7: name: "Intake" cannot be used here; use lower-case letters, digits, '.', '_' and '-', and begin with a letter or a digit
            -a
                1:7: name: "-a" cannot be used here; use lower-case letters, digits, '.', '_' and '-', and begin with a letter or a digit
            aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
                1:7: name: this text has 65 characters; write 1 to 64
        "#]],
    );
    let long = format!("request_type: {}", "a".repeat(129));
    let request_types =
        ["request_type: ''", "request_type: {a: b}", "request_type: two words", &long];
    check_top(
        &request_types,
        expect![[r#"
        request_type: ''
            3:15: request_type: this text must not be empty
        request_type: {a: b}
            3:15: request_type: this must be text, not an object
        request_type: two words
            3:15: request_type: "two words" cannot be used here; use letters, digits, '.', '_', '-', ':' and '/', and begin with a letter or a digit
        request_type: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
            3:15: request_type: this text has 129 characters; write 1 to 128
    "#]],
    );
    let long = format!("description: {}", "a".repeat(4_097));
    check_top(
        &["description: [a]", &long],
        expect![[r#"
        description: [a]
            3:14: description: this must be text, not a list
        description: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
            3:14: description: this text has 4097 characters; write 0 to 4096
    "#]],
    );
}

#[test]
fn words_are_chosen_from_a_list() {
    check_top(
        &["cancel: drian", "cancel: [drain]", "on_step_failure: ignore", "on_step_failure: {}"],
        expect![[r#"
            cancel: drian
                3:9: cancel: "drian" is not possible here; did you mean "drain"?
            cancel: [drain]
                3:9: cancel: this must be text, not a list
            on_step_failure: ignore
                3:18: on_step_failure: "ignore" is not possible here; use one of skip_descendants, cancel_rest
            on_step_failure: {}
                3:18: on_step_failure: this must be text, not an object
        "#]],
    );
    check_step(
        &["on_timeout: retry", "on_timeout: []"],
        expect![[r#"
        on_timeout: retry
            6:15: steps[0].on_timeout: "retry" is not possible here; use one of republish, fail
        on_timeout: []
            6:15: steps[0].on_timeout: this must be text, not a list
    "#]],
    );
}

#[test]
fn durations_have_a_unit_and_a_range() {
    check_top(
        &["timeout: 30", "timeout: 99ms", "timeout: 3651d", "timeout: {}"],
        expect![[r#"
            timeout: 30
                3:10: timeout: "30" is not a duration: it has no unit; write a whole number and one of ms, s, m, h or d, without spaces, such as 30s or 15m
            timeout: 99ms
                3:10: timeout: 99ms is out of range; use 100ms to 3650d
            timeout: 3651d
                3:10: timeout: "3651d" is not a duration: it is longer than the 3650 days allowed; write a whole number and one of ms, s, m, h or d, without spaces, such as 30s or 15m
            timeout: {}
                3:10: timeout: this must be a duration such as 30s, not an object
        "#]],
    );
    check_step(
        &["timeout: soon", "timeout: 0s"],
        expect![[r#"
        timeout: soon
            6:12: steps[0].timeout: "soon" is not a duration: it does not begin with a whole number; write a whole number and one of ms, s, m, h or d, without spaces, such as 30s or 15m
        timeout: 0s
            6:12: steps[0].timeout: 0s is out of range; use 100ms to 3650d
    "#]],
    );
}

#[test]
fn a_retry_policy_is_checked_field_by_field() {
    let long = format!("retry: {{delays: [{}]}}", "1s, ".repeat(101));
    let cases = [
        "retry: 3",
        "retry: {attempts: 3}",
        "retry: {max_attempts: 1001}",
        "retry: {max_attempts: many}",
        "retry: {interval: 5}",
        "retry: {interval: 5s, delays: [1s]}",
        "retry: {delays: 5s}",
        "retry: {delays: []}",
        "retry: {delays: [1s, x, [2s]]}",
        &long,
        "retry: {jitter: 101%}",
        "retry: {jitter: 20}",
        "retry: {jitter: +1%}",
        "retry: {jitter: {}}",
        "run_retry: {max_attempts: 0}",
        "run_retry: often",
    ];
    check_top(
        &cases,
        expect![[r#"
        retry: 3
            3:8: retry: this must be an object, not a number
        retry: {attempts: 3}
            3:9: retry.attempts: there is no field "attempts"; known fields are max_attempts, interval, delays, exponential, jitter
        retry: {max_attempts: 1001}
            3:23: retry.max_attempts: 1001 is out of range; use 1 to 1000
        retry: {max_attempts: many}
            3:23: retry.max_attempts: this must be a whole number, not text
        retry: {interval: 5}
            3:19: retry.interval: "5" is not a duration: it has no unit; write a whole number and one of ms, s, m, h or d, without spaces, such as 30s or 15m
        retry: {interval: 5s, delays: [1s]}
            3:31: retry.delays: the delay is given in more than one way; keep one of interval, delays and exponential
        retry: {delays: 5s}
            3:17: retry.delays: this must be a list, not text
        retry: {delays: []}
            3:17: retry.delays: the list has 0 delays; write 1 to 100
        retry: {delays: [1s, x, [2s]]}
            3:22: retry.delays[1]: "x" is not a duration: it does not begin with a whole number; write a whole number and one of ms, s, m, h or d, without spaces, such as 30s or 15m
            3:25: retry.delays[2]: this must be a duration such as 30s, not a list
        retry: {delays: [1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s,
            3:17: retry.delays: the list has 101 delays; write 1 to 100
        retry: {jitter: 101%}
            3:17: retry.jitter: this is not a percentage from 0% to 100%; write it as a whole number with a percent sign, such as 20%
        retry: {jitter: 20}
            3:17: retry.jitter: this is not a percentage from 0% to 100%; write it as a whole number with a percent sign, such as 20%
        retry: {jitter: +1%}
            3:17: retry.jitter: this is not a percentage from 0% to 100%; write it as a whole number with a percent sign, such as 20%
        retry: {jitter: {}}
            3:17: retry.jitter: this must be text, not an object
        run_retry: {max_attempts: 0}
            3:27: run_retry.max_attempts: 0 is out of range; use 1 to 1000
        run_retry: often
            3:12: run_retry: this must be an object, not text
    "#]],
    );
    check_step(
        &["retry: []"],
        expect![[r#"
        retry: []
            6:10: steps[0].retry: this must be an object, not a list
    "#]],
    );
}

#[test]
fn a_growing_delay_is_checked_field_by_field() {
    let cases = [
        "retry: {exponential: 2}",
        "retry: {exponential: {factor: 2}}",
        "retry: {exponential: {first: 1s, factor: 0}}",
        "retry: {exponential: {first: 1s, factor: 1.5}}",
        "retry: {exponential: {first: 0s}}",
        "retry: {exponential: {first: 1m, cap: 1s}}",
        "retry: {exponential: {first: 1m, max: 1h}}",
    ];
    check_step(
        &cases,
        expect![[r#"
        retry: {exponential: 2}
            6:24: steps[0].retry.exponential: this must be an object, not a number
        retry: {exponential: {factor: 2}}
            6:24: steps[0].retry.exponential.first: this field is required
        retry: {exponential: {first: 1s, factor: 0}}
            6:44: steps[0].retry.exponential.factor: 0 is out of range; use 1 to 100
        retry: {exponential: {first: 1s, factor: 1.5}}
            6:44: steps[0].retry.exponential.factor: this must be a whole number, not a decimal number
        retry: {exponential: {first: 0s}}
            6:32: steps[0].retry.exponential.first: 0s is out of range; use 100ms to 3650d
        retry: {exponential: {first: 1m, cap: 1s}}
            6:41: steps[0].retry.exponential.cap: the delay begins at 1m, above its cap of 1s; raise the cap
        retry: {exponential: {first: 1m, max: 1h}}
            6:36: steps[0].retry.exponential.max: there is no field "max"; known fields are first, factor, cap
    "#]],
    );
}

#[test]
fn polling_needs_an_interval_and_an_end() {
    let cases = [
        "poll: 30s",
        "poll: {}",
        "poll: {interval: 1ms, timeout: x}",
        "poll: {interval: 1m, timeout: 30s}",
        "poll: {interval: 1m, timeout: 1h, times: 3}",
    ];
    check_step(
        &cases,
        expect![[r#"
        poll: 30s
            6:9: steps[0].poll: this must be an object, not text
        poll: {}
            6:9: steps[0].poll.interval: this field is required
            6:9: steps[0].poll.timeout: this field is required
        poll: {interval: 1ms, timeout: x}
            6:20: steps[0].poll.interval: 1ms is out of range; use 100ms to 3650d
            6:34: steps[0].poll.timeout: "x" is not a duration: it does not begin with a whole number; write a whole number and one of ms, s, m, h or d, without spaces, such as 30s or 15m
        poll: {interval: 1m, timeout: 30s}
            6:33: steps[0].poll.timeout: polling ends after 30s, before it asks again; use at least the interval, 1m
        poll: {interval: 1m, timeout: 1h, times: 3}
            6:37: steps[0].poll.times: there is no field "times"; known fields are interval, timeout
    "#]],
    );
}

#[test]
fn a_step_has_an_id_a_type_and_a_pool() {
    let long = "a".repeat(65);
    let labels = format!("{{id: {long}, type: T, pool: {long}}}");
    let kind = format!("{{id: s, type: {}, pool: p}}", "a".repeat(257));
    let cases = [
        "{}",
        "{id: [], type: {}, pool: []}",
        "{id: a b, type: '', pool: /p}",
        "{id: s, type: T, pool: p, service: q}",
        &labels,
        &kind,
    ];
    check_steps(
        &cases,
        expect![[r#"
        {}
            2:9: steps[0].id: this field is required
            2:9: steps[0].type: this field is required
            2:9: steps[0].pool: this field is required
        {id: [], type: {}, pool: []}
            2:14: steps[0].id: this must be text, not a list
            2:24: steps[0].type: this must be text, not an object
            2:34: steps[0].pool: this must be text, not a list
        {id: a b, type: '', pool: /p}
            2:14: steps[0].id: "a b" cannot be used here; use letters, digits, '.', '_' and '-', and begin with a letter or a digit
            2:25: steps[0].type: this text must not be empty
            2:35: steps[0].pool: "/p" cannot be used here; use letters, digits, '.', '_' and '-', and begin with a letter or a digit
        {id: s, type: T, pool: p, service: q}
            2:44: steps[0].service: service and pool are two names of one field; keep one of them
        {id: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa, type: T, pool: aaaaaaaaaaaaa
            2:14: steps[0].id: this text has 65 characters; write 1 to 64
            2:96: steps[0].pool: this text has 65 characters; write 1 to 64
        {id: s, type: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
            2:23: steps[0].type: this text has 257 characters; write 1 to 256
    "#]],
    );
    let cases = [
        "gate: a/b",
        "gate: {}",
        "continue_on_failure: maybe",
        "pooll: q",
        "timeuot: 5m",
        "zzz: 1",
    ];
    check_step(
        &cases,
        expect![[r#"
            gate: a/b
                6:9: steps[0].gate: "a/b" cannot be used here; use letters, digits, '.', '_' and '-', and begin with a letter or a digit
            gate: {}
                6:9: steps[0].gate: this must be text, not an object
            continue_on_failure: maybe
                6:24: steps[0].continue_on_failure: this must be true or false, not text
            pooll: q
                6:3: steps[0].pooll: there is no field "pooll"; did you mean "pool"?
            timeuot: 5m
                6:3: steps[0].timeuot: there is no field "timeuot"; did you mean "timeout"?
            zzz: 1
                6:3: steps[0].zzz: there is no field "zzz"; known fields are id, type, service, pool, params, when, for_each, max_items, max_parallel, outputs, timeout, on_timeout, retry, poll, credits, continue_on_failure, after, depends_on, gate, on_failure, payload_schema
        "#]],
    );
}

#[test]
fn outputs_are_names_with_paths() {
    let many: Vec<String> = (0..101).map(|n| format!("o{n}: x")).collect();
    let many = format!("outputs: {{{}}}", many.join(", "));
    let cases = [
        "outputs: [a]",
        "outputs: {_job_id: id}",
        "outputs: {a.b: x, 'c d': y}",
        "outputs: {a: [b]}",
        "outputs: {a: ''}",
        &many,
    ];
    check_step(
        &cases,
        expect![[r#"
        outputs: [a]
            6:12: steps[0].outputs: this must be an object, not a list
        outputs: {_job_id: id}
            6:22: steps[0].outputs._job_id: "_job_id" cannot be the name of an output; use letters, digits, '_' and '-', and begin with a letter; names that begin with '_' are the system's own
        outputs: {a.b: x, 'c d': y}
            6:18: steps[0].outputs["a.b"]: "a.b" cannot be the name of an output; use letters, digits, '_' and '-', and begin with a letter; names that begin with '_' are the system's own
            6:28: steps[0].outputs["c d"]: "c d" cannot be the name of an output; use letters, digits, '_' and '-', and begin with a letter; names that begin with '_' are the system's own
        outputs: {a: [b]}
            6:16: steps[0].outputs.a: this must be text, not a list
        outputs: {a: ''}
            6:16: steps[0].outputs.a: this text must not be empty
        outputs: {o0: x, o1: x, o2: x, o3: x, o4: x, o5: x, o6: x, o7: x, o8: x, o9: x, o10: x, o11: x, o12:
            6:12: steps[0].outputs: a step with 101 outputs has too many; declare at most 100
    "#]],
    );
}
