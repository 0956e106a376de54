//! What is accepted in a runbook document and was probably meant otherwise.

use expect_test::{Expect, expect};
use stepwell_dialects::runbooks::read;

use super::{HEAD, reading, with_steps};

#[track_caller]
fn check(text: &str, expected: Expect) {
    let warnings = reading(text).warnings.map(|warnings| format!("{warnings}\n"));
    expected.assert_eq(&warnings.unwrap_or_default());
}

// A-015
#[test]
fn a_key_that_nobody_knows_is_ignored_and_told() {
    check(
        "
name: a
descripton: x
version: 2
data_source: {type: csv, connection: C, primary_key: Id, batch_time: immediate, Query: q, multi_valued_columns: [{name: A, format: json_array, sep: x}]}
retry: {max_retries: 1, intervall: 1m}
phases:
  - name: p
    offset: T-0
    owner: me
    steps: [{name: s, worker_id: w, function: F, outputs: {}, poll: {interval: 1s, timeout: 1s, every: 2s}}]
",
        expect![[r#"
            3:1: descripton: there is no field "descripton", and it is ignored; did you mean "description"?
            4:1: version: there is no field "version", and it is ignored; known fields are name, description, data_source, retry, init, phases, on_member_removed, rollbacks
            5:81: data_source.Query: there is no field "Query", and it is ignored; did you mean "query"?
            5:144: data_source.multi_valued_columns[0].sep: there is no field "sep", and it is ignored; known fields are name, format
            6:25: retry.intervall: there is no field "intervall", and it is ignored; did you mean "interval"?
            10:5: phases[0].owner: there is no field "owner", and it is ignored; known fields are name, offset, steps
            11:50: phases[0].steps[0].outputs: there is no field "outputs", and it is ignored; known fields are name, worker_id, function, params, output_params, on_failure, poll, retry, timeout
            11:97: phases[0].steps[0].poll.every: there is no field "every", and it is ignored; known fields are interval, timeout
        "#]],
    );
}

// A-015: also when the document is refused, where it often says why.
#[test]
fn an_unknown_key_is_told_beside_the_one_that_is_missing() {
    let problems = read(with_steps("{name: s, workerid: w, function: F}").as_bytes()).unwrap_err();
    expect![[r#"
        3:41: phases[0].steps[0].worker_id: this field is required
        3:51: phases[0].steps[0].workerid: there is no field "workerid", and it is ignored; did you mean "worker_id"?
    "#]].assert_eq(&format!("{problems}\n"));
}

// A-028: they are supplied at publish time.
#[test]
fn what_belongs_to_publishing_is_told_to_be_said_there() {
    let text = with_steps("{name: s, worker_id: w, function: F}");
    check(
        &format!("{text}overdue_behavior: rerun\nrerun_init: true\n"),
        expect![[r#"
            4:1: overdue_behavior: there is no field "overdue_behavior", and it is ignored; say it when you publish the runbook; it is stored with the version
            5:1: rerun_init: there is no field "rerun_init", and it is ignored; say it when you publish the runbook; it is stored with the version
        "#]],
    );
}

#[test]
fn phases_that_are_not_listed_in_order_are_told() {
    let step = "steps: [{name: s, worker_id: w, function: F}]";
    check(
        &format!(
            "{HEAD}phases:\n- {{name: cutover, offset: T-0, {step}}}\n- {{name: prepare, offset: T-4h, {step}}}\n"
        ),
        expect![[r#"
            5:27: phases[1].offset: "prepare" is due at T-4h, before "cutover" at T-0, which is written above it; they run in the order of their offsets; list them so
        "#]],
    );
}

#[test]
fn what_nothing_can_come_of_is_told() {
    let text = with_steps(
        "{name: s, worker_id: w, function: F, retry: {interval: 1m}}, {name: s, worker_id: w, function: F}",
    );
    check(
        &format!(
            "{text}init: [{{name: i, worker_id: w, function: F, output_params: {{A: a}}}}]
rollbacks: {{undo: [{{name: u, worker_id: w, function: F}}]}}\n"
        ),
        expect![[r#"
            3:85: phases[0].steps[0].retry: a retry without max_retries retries nothing; add max_retries; it is not taken over from the retry of the document
            3:109: phases[0].steps[1].name: two steps here are called "s"; people will confuse them; rename one of them
            4:60: init[0].output_params: init has no member whose steps could use what it sets; remove it
            5:19: rollbacks.undo: no step names "undo" in its on_failure; name it, or remove it
        "#]],
    );
}

// X-034: without a list of columns nobody can tell, so it is not refused.
#[test]
fn a_variable_that_is_set_too_late_is_told_unless_a_column_may_have_the_name() {
    check(
        &with_steps(
            "{name: use, worker_id: w, function: F, params: {a: '{{Made}} {{Other}}'}}, \
             {name: make, worker_id: w, function: F, output_params: {Made: id}}",
        ),
        expect![[r#"
            3:92: phases[0].steps[0].params.a: "Made" is set by step "make", which is not before this one; the step will fail unless a column has this name
        "#]],
    );
}
