//! `when` and `for_each` in a workflow document: what is read, what is refused and where, and what an
//! input lets one foresee.

use expect_test::{Expect, expect};
use serde_json::{Value, json};
use stepwell_core::condition::Condition;
use stepwell_core::definition::ForEach;
use stepwell_dialects::workflow::{Checks, check_input};

use crate::refused_fields::{check, check_step, check_steps};
use crate::world::workflow;

// X-112: a condition is read once, when its document is published.
#[test]
fn a_condition_may_be_any_text_that_reads_as_one_or_a_plain_true_or_false() {
    let document =
        |when: &str| format!("name: a\nsteps: [{{id: s, type: T, pool: p, when: {when}}}]\n");
    for (written, read) in [
        (r#""{{approved}}""#, "{{approved}}"),
        (r#""{{country}} == 'NO'""#, "{{country}} == 'NO'"),
        (r#"'{{country}} in ["NO", "SE"]'"#, "{{country}} in ['NO', 'SE']"),
        ("false", "false"),
    ] {
        let step = &workflow(&document(written)).steps[0];
        assert_eq!(step.when, Some(Condition::read(read).unwrap()), "{written}");
    }
    assert_eq!(workflow("name: a\nsteps: [{id: s, type: T, pool: p}]").steps[0].when, None);
}

// X-112: the platform says depends_on where other documents say after.
#[test]
fn what_a_step_depends_on_is_what_it_comes_after() {
    let document = |key: &str| {
        format!(
            "name: a\nsteps: [{{id: a, type: T, pool: p}}, {{id: b, type: T, pool: p, {key}: [a]}}]"
        )
    };
    assert_eq!(workflow(&document("depends_on")), workflow(&document("after")));
}

// X-112: refused with line and column, and the character within the text.
#[test]
fn a_condition_that_cannot_be_read_is_refused_with_its_place() {
    check_step(
        &[
            r#"when: "approved""#,
            r#"when: "{{country}} = 'NO'""#,
            r#"when: "'{{country}}' == 'NO'""#,
            r#"when: "{{a}} and (""#,
            "when: {{a}}",
            "when: [a]",
            r#"when: """#,
            r#"when: "{{_nope}} == 1""#,
        ],
        expect![[r#"
            when: "approved"
                6:9: steps[0].when: at character 1: approved has no meaning here; a variable is written {{approved}} and a text 'approved'; the words are and, or, not, in, true, false and null
            when: "{{country}} = 'NO'"
                6:9: steps[0].when: at character 13: = has no meaning here; write ==
            when: "'{{country}}' == 'NO'"
                6:9: steps[0].when: at character 1: a placeholder stands without quotes: {{name}}, not '{{name}}'
            when: "{{a}} and ("
                6:9: steps[0].when: at character 12: the end of the condition stands where a value is expected
            when: {{a}}
                6:10: steps[0].when: a key must be text; if this is a placeholder, put the whole value in quotes: "{{name}}"
            when: [a]
                6:9: steps[0].when: this must be text, not a list
            when: ""
                6:9: steps[0].when: at character 1: the condition is empty; write one such as {{approved}} or {{country}} == 'NO'
            when: "{{_nope}} == 1"
                6:9: steps[0].when: there is no variable "_nope"; known here are _correlation_id, _doc_id, _input_ref, _job_id, _output_ref, _references, _request_type, _tenant_id, _user_id, _workspace_ref
        "#]],
    );
}

// X-112: the names in a condition are judged as those in templates are.
#[test]
fn a_name_in_a_condition_or_a_list_must_exist_when_the_input_is_described() {
    check(
        r#"
name: a
input_schema: {properties: {country: {}, lines: {}}}
steps:
  - {id: early, type: T, pool: p, when: "{{contry}} == 'NO' or {{total}} > 3"}
  - {id: sums, type: T, pool: p, outputs: {total: sum}, for_each: "{{line}}"}
  - {id: late, type: T, pool: p, when: "{{total}} > 3", for_each: "{{lines}}", params: {of: "{{item.id}} {{_item_index}}"}}
compensations:
  undo: [{id: u, type: T, pool: p, when: "{{totl}}", for_each: ["{{nothing}}"]}]
"#,
        expect![[r#"
            5:41: steps[0].when: there is no variable "contry"; did you mean "country"?
            5:41: steps[0].when: "total" is set by step "sums", which is not before this one; add "sums" to this step's after
            6:67: steps[1].for_each: there is no variable "line"; did you mean "lines"?
            9:42: compensations.undo[0].when: there is no variable "totl"; did you mean "total"?
            9:65: compensations.undo[0].for_each[0]: there is no variable "nothing"; known here are country, lines, total"#]],
    );
}

// X-112: there is an item only where something is done for one.
#[test]
fn an_item_is_known_in_params_and_type_of_a_step_with_a_list_only() {
    check_steps(
        &[
            r#"{id: a, type: T, pool: p, params: "{{_item_index}}"}"#,
            r#"{id: a, type: T, pool: p, for_each: [1], when: "{{item}} > 1"}"#,
            r#"{id: a, type: T, pool: p, for_each: "{{item.parts}}"}"#,
            r#"{id: a, type: T, pool: p, for_each: ["{{_item_index}}"], when: "{{_item_index}} > 1"}"#,
        ],
        expect![[r#"
            {id: a, type: T, pool: p, params: "{{_item_index}}"}
                2:43: steps[0].params: there is no variable "_item_index"; known here are _correlation_id, _doc_id, _input_ref, _job_id, _output_ref, _references, _request_type, _tenant_id, _user_id, _workspace_ref
            {id: a, type: T, pool: p, for_each: [1], when: "{{item}} > 1"}
                2:56: steps[0].when: there is no "item" yet; when and for_each are asked once, for the step as a whole
            {id: a, type: T, pool: p, for_each: "{{item.parts}}"}
                2:45: steps[0].for_each: there is no "item.parts" yet; when and for_each are asked once, for the step as a whole
            {id: a, type: T, pool: p, for_each: ["{{_item_index}}"], when: "{{_item_index}} > 1"}
                2:46: steps[0].for_each[0]: there is no "_item_index" yet; when and for_each are asked once, for the step as a whole
                2:72: steps[0].when: there is no "_item_index" yet; when and for_each are asked once, for the step as a whole
        "#]],
    );
    let sound = workflow(
        r#"
name: a
input_schema: {properties: {lines: {}}}
steps:
  - {id: a, type: "T-{{_item_index}}", pool: p, for_each: "{{lines}}", params: ["{{item}}", "{{Item.x}}"]}
"#,
    );
    let for_each = sound.steps[0].for_each.as_ref().unwrap();
    let expected = ForEach { list: json!("{{lines}}"), items_max: 1_000, parallel_max: None };
    assert_eq!(*for_each, expected);
}

// X-112: what is no list is refused at publish, and so is one that is too long.
#[test]
fn a_list_is_a_list_or_exactly_one_placeholder_and_its_limits_have_limits() {
    let long = format!("for_each: [{}]", vec!["1"; 1_001].join(", "));
    check_step(
        &[
            "for_each: lines",
            r#"for_each: "all {{lines}}""#,
            r#"for_each: "{{a}}{{b}}""#,
            r#"for_each: "{{a""#,
            "for_each: 3",
            "for_each: {a: 1}",
            r#"for_each: ["{{b"]"#,
            &long,
            "for_each: [1, 2, 3]\n  max_items: 2",
            "for_each: [1]\n  max_items: 10001",
            "for_each: [1]\n  max_parallel: 0",
            "max_items: 3",
            "max_parallel: 3",
        ],
        expect![[r#"
            for_each: lines
                6:13: steps[0].for_each: this is neither a list nor exactly one placeholder; write a list, or the name of one in braces, such as {{items}}
            for_each: "all {{lines}}"
                6:13: steps[0].for_each: this is neither a list nor exactly one placeholder; write a list, or the name of one in braces, such as {{items}}
            for_each: "{{a}}{{b}}"
                6:13: steps[0].for_each: this is neither a list nor exactly one placeholder; write a list, or the name of one in braces, such as {{items}}
            for_each: "{{a"
                6:13: steps[0].for_each: a placeholder begins with {{ and is never closed; add }} after the name
            for_each: 3
                6:13: steps[0].for_each: this is neither a list nor exactly one placeholder; write a list, or the name of one in braces, such as {{items}}
            for_each: {a: 1}
                6:13: steps[0].for_each: this is neither a list nor exactly one placeholder; write a list, or the name of one in braces, such as {{items}}
            for_each: ["{{b"]
                6:14: steps[0].for_each[0]: a placeholder begins with {{ and is never closed; add }} after the name
            for_each: [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                6:13: steps[0].for_each: the list has 1001 items; 1000 are allowed; see max_items
            for_each: [1, 2, 3]
              max_items: 2
                6:13: steps[0].for_each: the list has 3 items; 2 are allowed; see max_items
            for_each: [1]
              max_items: 10001
                7:14: steps[0].max_items: 10001 is out of range; use 1 to 10000
            for_each: [1]
              max_parallel: 0
                7:17: steps[0].max_parallel: 0 is out of range; use 1 to 10000
            max_items: 3
                6:14: steps[0].max_items: this limits the items of a step, and it has none; add for_each, or remove it
            max_parallel: 3
                6:17: steps[0].max_parallel: this limits the items of a step, and it has none; add for_each, or remove it
        "#]],
    );
}

#[track_caller]
fn check_lists(document: &str, input: &Value, expected: Expect) {
    let workflow = workflow(document);
    let answer = check_input(&workflow, input.as_object().unwrap());
    let problems = Checks::compile(&workflow).unwrap().check_value(input);
    assert_eq!(problems.first(), answer.as_ref().err(), "both say the same");
    expected.assert_eq(&answer.map_or_else(|problem| problem.to_string(), |()| "fits".to_owned()));
}

const LISTS: &str = r#"
name: a
steps:
  - {id: first, type: T, pool: p, outputs: {found: found}, for_each: "{{lines}}", max_items: 3}
  - {id: second, type: T, pool: p, for_each: "{{found}}", max_items: 1}
  - {id: third, type: T, pool: p, for_each: "{{order.lines}}", when: "{{order}} != null"}
"#;

// X-112: a list in the input that no step can be done for is refused before anything is created.
#[test]
fn a_list_of_the_input_that_would_fail_the_run_is_refused_with_the_input() {
    check_lists(LISTS, &json!({ "lines": [1, 2, 3] }), expect!["fits"]);
    check_lists(LISTS, &json!({}), expect!["fits"]);
    check_lists(
        LISTS,
        &json!({ "lines": [1, 2, 3, 4] }),
        expect![[
            r#"payload.lines: the list has 4 items; step "first" is done for each of its items, and may have 3"#
        ]],
    );
    check_lists(
        LISTS,
        &json!({ "lines": { "a": 1 } }),
        expect![[
            r#"payload.lines: this must be a list, not an object; step "first" is done for each of its items, and may have 3"#
        ]],
    );
    check_lists(
        LISTS,
        &json!({ "Lines": null }),
        expect![[
            r#"payload.lines: this must be a list, not null; step "first" is done for each of its items, and may have 3"#
        ]],
    );
    // An output overrules the input, and is not known yet.
    check_lists(LISTS, &json!({ "lines": [], "found": [1, 2] }), expect!["fits"]);
    // The step may be passed over, so what is there may be something else; but it may not be longer.
    check_lists(LISTS, &json!({ "order": { "lines": 7 } }), expect!["fits"]);
    let long = json!({ "order": { "lines": vec![0; 1_001] } });
    check_lists(
        LISTS,
        &long,
        expect![[
            r#"payload.order.lines: the list has 1001 items; step "third" is done for each of its items, and may have 1000"#
        ]],
    );
}

// X-112: a million items are told as what they are.
#[test]
fn a_million_items_are_refused_clearly() {
    let million = json!({ "lines": vec![0; 1_000_000] });
    check_lists(
        LISTS,
        &million,
        expect![[
            r#"payload.lines: the list has 1000000 items; step "first" is done for each of its items, and may have 3"#
        ]],
    );
}
