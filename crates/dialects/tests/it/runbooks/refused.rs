//! What is refused in a runbook document, field by field, with line, column and path.

use expect_test::{Expect, expect};
use stepwell_dialects::runbooks::read;

use super::HEAD;

/// Checks one document, as its author reads the answer.
#[track_caller]
pub(super) fn check(text: &str, expected: Expect) {
    let problems = read(text.as_bytes()).unwrap_err();
    expected.assert_eq(&format!("{problems}\n"));
}

/// Checks several documents that differ in one place: each case, and what is said of it.
#[track_caller]
fn check_each(document: fn(&str) -> String, cases: &[&str], expected: Expect) {
    let mut lines = Vec::new();
    for case in cases {
        lines.push(case.chars().take(100).collect::<String>());
        match read(document(case).as_bytes()) {
            Ok(_) => lines.push("    accepted".to_owned()),
            Err(problems) => {
                lines.extend(problems.iter().map(|problem| format!("    {problem}")));
            }
        }
    }
    expected.assert_eq(&(lines.join("\n") + "\n"));
}

/// A document with this data source, in the middle of which these fields stand.
#[track_caller]
fn check_source(cases: &[&str], expected: Expect) {
    let document = |case: &str| {
        format!(
            "name: a\nphases: [{{name: p, offset: T-0, steps: [{{name: s, worker_id: w, function: F}}]}}]\n\
             data_source:\n  {}\n",
            case.replace("; ", "\n  ")
        )
    };
    check_each(document, cases, expected);
}

/// The same for what a source that is otherwise sound says of its columns.
#[track_caller]
fn check_columns(cases: &[&str], expected: Expect) {
    let document = |case: &str| {
        format!(
            "name: a\nphases: [{{name: p, offset: T-0, steps: [{{name: s, worker_id: w, function: F}}]}}]\n\
             data_source:\n  type: csv\n  connection: C\n  primary_key: K\n  batch_time_column: T\n  {}\n",
            case.replace("; ", "\n  ")
        )
    };
    check_each(document, cases, expected);
}

/// A document with these phases.
#[track_caller]
pub(super) fn check_phases(cases: &[&str], expected: Expect) {
    check_each(|case| format!("{HEAD}phases: {case}\n"), cases, expected);
}

/// A document whose only step has these fields beside its name, worker and function.
#[track_caller]
pub(super) fn check_step(cases: &[&str], expected: Expect) {
    let document = |case: &str| {
        format!(
            "{HEAD}phases:\n- name: p\n  offset: T-0\n  steps:\n  - name: s\n    worker_id: w\n    \
             function: F\n    {case}\n"
        )
    };
    check_each(document, cases, expected);
}

/// A document with these fields beside its only phase.
#[track_caller]
pub(super) fn check_top(cases: &[&str], expected: Expect) {
    let document = |case: &str| {
        format!(
            "{HEAD}phases: [{{name: p, offset: T-0, steps: [{{name: s, worker_id: w, function: F}}]}}]\n{case}\n"
        )
    };
    check_each(document, cases, expected);
}

#[test]
fn all_problems_of_a_document_are_told_at_once() {
    check(
        "
name: '  '
data_source:
  type: datavers
  connection: Server=db;Password=hunter2
  primary_key: Id
retry: {max_retries: -1, interval: 1 minute}
init:
  - {name: i, worker_id: w, function: F, params: {User: '{{UserPrincipalName}}'}}
phases:
  - name: one
    offset: T-5
    steps:
      - {name: s, workerid: w, function: F, on_failure: undoo}
  - name: one
    offset: T-0
    steps: []
rollbacks:
  undo: [{name: u, worker_id: w, function: F, on_failure: undo}]
",
        expect![[r#"
            2:7: name: "  " cannot be used here; write one line without blanks before or after it
            4:3: data_source: nothing says how members are grouped into batches; add batch_time_column, or batch_time: immediate
            4:9: data_source.type: "datavers" is not possible here; did you mean "dataverse"?
            5:15: data_source.connection: this is not the name of an environment variable; write the name, not the value, and keep secrets out; use letters, digits and '_', and do not begin with a digit
            7:22: retry.max_retries: -1 is out of range; use 0 to 999
            7:36: retry.interval: "1 minute" is not a duration; write a whole number and one of s, m, h or d, without spaces, such as 30s or 15m, up to 3650d
            9:57: init[0].params.User: init has no member, so there is no variable "UserPrincipalName"; use _batch_id and _batch_start_time
            12:13: phases[0].offset: "T-5" is not an offset: it has no unit; write T-0, or T- (before) or T+ (after) with a whole number and one of d, h, m or s, such as T-5d, T-30m or T+2h
            14:9: phases[0].steps[0].worker_id: this field is required
            14:19: phases[0].steps[0].workerid: there is no field "workerid", and it is ignored; did you mean "worker_id"?
            14:57: phases[0].steps[0].on_failure: there is no rollback "undoo"; did you mean "undo"?
            15:11: phases[1].name: two phases are called "one"; the first one is at 11:11; rename one of them
            17:12: phases[1].steps: there are no steps; write at least one
            19:59: rollbacks.undo[0].on_failure: what undoes something is not undone itself; remove on_failure; only steps of phases and of init have one
        "#]],
    );
}

#[test]
fn a_document_is_an_object_with_the_keys_of_a_runbook() {
    // A-007
    check(
        "[]",
        expect![[r#"
        1:1: this must be an object, not a list
    "#]],
    );
    check(
        "name: a",
        expect![[r#"
            1:1: data_source: this field is required
            1:1: phases: this field is required
        "#]],
    );
    check(
        "a: b: c",
        expect![[r#"
            1:5: this is not YAML: mapping values are not allowed in this context
        "#]],
    );
    check_top(
        &[
            "description: [a]",
            "retry: 3",
            "init: {}",
            "on_member_removed: text",
            "rollbacks: []",
            "rollbacks: {undo: {}}",
            "rollbacks: {undo: []}",
            "rollbacks: {' ': [{name: u, worker_id: w, function: F}]}",
            "name: b",
        ],
        expect![[r#"
            description: [a]
                4:14: description: this must be text, not a list
            retry: 3
                4:8: retry: this must be an object, not a number
            init: {}
                4:7: init: this must be a list, not an object
            on_member_removed: text
                4:20: on_member_removed: this must be a list, not text
            rollbacks: []
                4:12: rollbacks: this must be an object, not a list
            rollbacks: {undo: {}}
                4:19: rollbacks.undo: this must be a list, not an object
            rollbacks: {undo: []}
                4:19: rollbacks.undo: there are no steps; write at least one
            rollbacks: {' ': [{name: u, worker_id: w, function: F}]}
                4:18: rollbacks[" "]: " " cannot be the name of a rollback; write one line of 1 to 128 characters
            name: b
                4:1: the key "name" appears twice in this object; the first one is at 1:1
        "#]],
    );
}

#[test]
fn a_data_source_says_where_what_and_how() {
    // A-009
    check_source(
        &[
            "[]",
            "type: dataverse",
            "type: oracle; connection: C; query: Q; primary_key: K; batch_time: immediate",
            "type: databricks; connection: C; query: Q; primary_key: K; batch_time: immediate",
            "type: dataverse; warehouse_id: W; connection: C; query: Q; primary_key: K; batch_time: immediate",
            "type: csv; query: Q; rows: r; connection: C; primary_key: K; batch_time: immediate",
            "type: sqlite; query: ''; connection: C; primary_key: ''; batch_time: immediate",
        ],
        expect![[r#"
            []
                4:3: data_source: this must be an object, not a list
            type: dataverse
                4:3: data_source.query: this field is required
                4:3: data_source.connection: this field is required
                4:3: data_source.primary_key: this field is required
                4:3: data_source: nothing says how members are grouped into batches; add batch_time_column, or batch_time: immediate
            type: oracle; connection: C; query: Q; primary_key: K; batch_time: immediate
                4:9: data_source.type: "oracle" is not possible here; use one of dataverse, databricks, postgres, sqlite, csv, http
            type: databricks; connection: C; query: Q; primary_key: K; batch_time: immediate
                4:3: data_source.warehouse_id: this field is required
            type: dataverse; warehouse_id: W; connection: C; query: Q; primary_key: K; batch_time: immediate
                5:17: data_source.warehouse_id: a source of this type has no warehouse_id; remove it
            type: csv; query: Q; rows: r; connection: C; primary_key: K; batch_time: immediate
                5:10: data_source.query: a source of this type has no query; remove it
                6:9: data_source.rows: a source of this type has no rows; remove it
            type: sqlite; query: ''; connection: C; primary_key: ''; batch_time: immediate
                5:10: data_source.query: this text must not be empty
                7:16: data_source.primary_key: this text must not be empty
        "#]],
    );
}

#[test]
fn a_connection_is_the_name_of_an_environment_variable_and_is_not_repeated() {
    // A-009: what stands there instead may be the secret itself.
    check_source(
        &[
            "type: sqlite; query: Q; connection: 'Server=db;Password=hunter2'; primary_key: K; batch_time: immediate",
            "type: sqlite; query: Q; connection: 1ST; primary_key: K; batch_time: immediate",
            "type: sqlite; query: Q; connection: [C]; primary_key: K; batch_time: immediate",
            "type: databricks; query: Q; connection: C; warehouse_id: a-b; primary_key: K; batch_time: immediate",
        ],
        expect![[r#"
            type: sqlite; query: Q; connection: 'Server=db;Password=hunter2'; primary_key: K; batch_time: immedi
                6:15: data_source.connection: this is not the name of an environment variable; write the name, not the value, and keep secrets out; use letters, digits and '_', and do not begin with a digit
            type: sqlite; query: Q; connection: 1ST; primary_key: K; batch_time: immediate
                6:15: data_source.connection: this is not the name of an environment variable; write the name, not the value, and keep secrets out; use letters, digits and '_', and do not begin with a digit
            type: sqlite; query: Q; connection: [C]; primary_key: K; batch_time: immediate
                6:15: data_source.connection: this must be text, not a list
            type: databricks; query: Q; connection: C; warehouse_id: a-b; primary_key: K; batch_time: immediate
                7:17: data_source.warehouse_id: this is not the name of an environment variable; write the name, not the value, and keep secrets out; use letters, digits and '_', and do not begin with a digit
        "#]],
    );
}

#[test]
fn members_are_grouped_in_exactly_one_way() {
    // X-058
    check_source(
        &[
            "type: csv; connection: C; primary_key: K",
            "type: csv; connection: C; primary_key: K; batch_time: immediate; batch_time_column: At",
            "type: csv; connection: C; primary_key: K; batch_time: imediate",
            "type: csv; connection: C; primary_key: K; batch_time: 2025-03-15T00:00:00Z",
            "type: csv; connection: C; primary_key: K; batch_time_column: [At]",
        ],
        expect![[r#"
            type: csv; connection: C; primary_key: K
                4:3: data_source: nothing says how members are grouped into batches; add batch_time_column, or batch_time: immediate
            type: csv; connection: C; primary_key: K; batch_time: immediate; batch_time_column: At
                7:15: data_source.batch_time: batch_time and batch_time_column are two ways to group members; keep one of them
            type: csv; connection: C; primary_key: K; batch_time: imediate
                7:15: data_source.batch_time: "imediate" is not possible here; did you mean "immediate"?
            type: csv; connection: C; primary_key: K; batch_time: 2025-03-15T00:00:00Z
                7:15: data_source.batch_time: "2025-03-15T00:00:00Z" is not possible here; use one of immediate
            type: csv; connection: C; primary_key: K; batch_time_column: [At]
                7:22: data_source.batch_time_column: this must be text, not a list
        "#]],
    );
}

#[test]
fn a_multi_valued_column_has_a_name_and_a_format() {
    // A-010
    check_columns(
        &[
            "multi_valued_columns: [A]",
            "multi_valued_columns: [{name: A}]",
            "multi_valued_columns: [{name: A, format: semicolon}]",
            "multi_valued_columns: [{name: A, format: json_aray}]",
            "multi_valued_columns: [{name: K, format: json_array}, {name: T, format: json_array}]",
            "multi_valued_columns: [{name: A, format: json_array}, {name: A, format: json_array}]",
        ],
        expect![[r#"
            multi_valued_columns: [A]
                8:26: data_source.multi_valued_columns[0]: this must be an object, not text
            multi_valued_columns: [{name: A}]
                8:26: data_source.multi_valued_columns[0].format: this field is required
            multi_valued_columns: [{name: A, format: semicolon}]
                8:44: data_source.multi_valued_columns[0].format: "semicolon" is not possible here; use one of semicolon_delimited, comma_delimited, json_array
            multi_valued_columns: [{name: A, format: json_aray}]
                8:44: data_source.multi_valued_columns[0].format: "json_aray" is not possible here; did you mean "json_array"?
            multi_valued_columns: [{name: K, format: json_array}, {name: T, format: json_array}]
                8:33: data_source.multi_valued_columns[0].name: the column "K" must hold one value; members are identified or grouped by it; remove it from this list
                8:64: data_source.multi_valued_columns[1].name: the column "T" must hold one value; members are identified or grouped by it; remove it from this list
            multi_valued_columns: [{name: A, format: json_array}, {name: A, format: json_array}]
                8:64: data_source.multi_valued_columns[1].name: the column "A" is listed twice; list it once
        "#]],
    );
}

#[test]
fn a_list_of_columns_is_complete() {
    check_columns(
        &[
            "columns: []",
            "columns: [K, A, A]",
            "columns: K",
            "columns: [K]; multi_valued_columns: [{name: A, format: json_array}]",
        ],
        expect![[r#"
            columns: []
                8:12: data_source.columns: the column "K" is missing from this list; list every column
                8:12: data_source.columns: the column "T" is missing from this list; list every column
            columns: [K, A, A]
                8:12: data_source.columns: the column "T" is missing from this list; list every column
                8:19: data_source.columns[2]: the column "A" is listed twice; list it once
            columns: K
                8:12: data_source.columns: this must be a list, not text
            columns: [K]; multi_valued_columns: [{name: A, format: json_array}]
                8:12: data_source.columns: the column "T" is missing from this list; list every column
                8:12: data_source.columns: the column "A" is missing from this list; list every column
        "#]],
    );
}

#[test]
fn a_phase_has_a_name_an_offset_and_steps() {
    // A-011, A-016, A-017
    let step = "{name: s, worker_id: w, function: F}";
    let phase =
        |name: &str, offset: &str| format!("{{name: {name}, offset: {offset}, steps: [{step}]}}");
    let many = |count: usize| {
        let phases: Vec<String> = (0..count).map(|n| phase(&format!("p{n}"), "T-0")).collect();
        format!("[{}]", phases.concat().replace("}{", "}, {"))
    };
    let crowd: Vec<String> =
        (0..600).map(|n| format!("{{name: s{n}, worker_id: w, function: F}}")).collect();
    let crowd = crowd.join(", ");
    let cases = [
        "[]",
        "{}",
        "[{}]",
        &format!("[{}, {}]", phase("a", "T-1d"), phase("a", "T-0")),
        "[{name: a, offset: T-0, steps: []}]",
        "[{name: a, offset: T-0, steps: {}}]",
        &format!("[{}]", phase("a", "5d")),
        &format!("[{}]", phase("a", "T-5")),
        &format!("[{}]", phase("a", "0")),
        &format!("[{}]", phase("a", "T-1w")),
        &format!("[{}]", phase("a", "T-4000d")),
        &format!("[{}]", phase("a", "[]")),
        &many(101),
        &format!(
            "[{{name: a, offset: T-0, steps: [{crowd}]}}, {{name: b, offset: T-0, steps: [{crowd}]}}]"
        ),
    ];
    check_phases(
        &cases,
        expect![[r#"
            []
                3:9: phases: there are 0 phases; write 1 to 100
            {}
                3:9: phases: this must be a list, not an object
            [{}]
                3:10: phases[0].name: this field is required
                3:10: phases[0].offset: this field is required
                3:10: phases[0].steps: this field is required
            [{name: a, offset: T-1d, steps: [{name: s, worker_id: w, function: F}]}, {name: a, offset: T-0, step
                3:89: phases[1].name: two phases are called "a"; the first one is at 3:17; rename one of them
            [{name: a, offset: T-0, steps: []}]
                3:40: phases[0].steps: there are no steps; write at least one
            [{name: a, offset: T-0, steps: {}}]
                3:40: phases[0].steps: this must be a list, not an object
            [{name: a, offset: 5d, steps: [{name: s, worker_id: w, function: F}]}]
                3:28: phases[0].offset: "5d" is not an offset: it does not begin with T- or T+; write T-0, or T- (before) or T+ (after) with a whole number and one of d, h, m or s, such as T-5d, T-30m or T+2h
            [{name: a, offset: T-5, steps: [{name: s, worker_id: w, function: F}]}]
                3:28: phases[0].offset: "T-5" is not an offset: it has no unit; write T-0, or T- (before) or T+ (after) with a whole number and one of d, h, m or s, such as T-5d, T-30m or T+2h
            [{name: a, offset: 0, steps: [{name: s, worker_id: w, function: F}]}]
                3:28: phases[0].offset: "0" is not an offset: it does not begin with T- or T+; write T-0, or T- (before) or T+ (after) with a whole number and one of d, h, m or s, such as T-5d, T-30m or T+2h
            [{name: a, offset: T-1w, steps: [{name: s, worker_id: w, function: F}]}]
                3:28: phases[0].offset: "T-1w" is not an offset: what follows the number is not a unit; write T-0, or T- (before) or T+ (after) with a whole number and one of d, h, m or s, such as T-5d, T-30m or T+2h
            [{name: a, offset: T-4000d, steps: [{name: s, worker_id: w, function: F}]}]
                3:28: phases[0].offset: "T-4000d" is not an offset: it is further from T-0 than the 3650 days allowed; write T-0, or T- (before) or T+ (after) with a whole number and one of d, h, m or s, such as T-5d, T-30m or T+2h
            [{name: a, offset: [], steps: [{name: s, worker_id: w, function: F}]}]
                3:28: phases[0].offset: this must be text, not a list
            [{name: p0, offset: T-0, steps: [{name: s, worker_id: w, function: F}]}, {name: p1, offset: T-0, ste
                3:9: phases: there are 101 phases; write 1 to 100
            [{name: a, offset: T-0, steps: [{name: s0, worker_id: w, function: F}, {name: s1, worker_id: w, func
                3:9: phases: the phases have 1200 steps in all; a member goes through all of them; write at most 1000
        "#]],
    );
}
