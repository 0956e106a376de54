//! What is refused in a workflow document because its parts do not fit together.

use std::fmt::Write as _;

use expect_test::expect;

use crate::refused_fields::{check, check_step, check_steps, check_top};

// X-112: a cycle is refused at registration, and told.
#[test]
fn the_graph_leads_to_steps_that_exist_and_never_back() {
    let cases = [
        "{id: a, type: T, pool: p, after: [c]}, {id: b, type: T, pool: p, after: [a]}, {id: c, type: T, pool: p, after: [b]}",
        "{id: a, type: T, pool: p, after: [a]}",
        "{id: a, type: T, pool: p, after: a}",
        "{id: a, type: T, pool: p, after: [[], {}]}",
        "{id: fetch, type: T, pool: p}, {id: b, type: T, pool: p, after: [fecth]}",
        "{id: b, type: T, pool: p}, {id: c, type: T, pool: p, after: [b, b]}",
        "{id: b, type: T, pool: p}, {id: b, type: T, pool: p}",
        "{id: a, type: T, pool: p, depends_on: [b]}, {id: b, type: T, pool: p, depends_on: [a]}",
        "{id: a, type: T, pool: p}, {id: b, type: T, pool: p, after: [a], depends_on: [a]}",
    ];
    check_steps(
        &cases,
        expect![[r#"
            {id: a, type: T, pool: p, after: [c]}, {id: b, type: T, pool: p, after: [a]}, {id: c, type: T, pool:
                2:42: steps[0].after: these steps wait for one another: a → b → c → a; remove one of the edges
            {id: a, type: T, pool: p, after: [a]}
                2:43: steps[0].after[0]: a step cannot come after itself; remove it
            {id: a, type: T, pool: p, after: a}
                2:42: steps[0].after: this must be a list, not text
            {id: a, type: T, pool: p, after: [[], {}]}
                2:43: steps[0].after[0]: this must be text, not a list
                2:47: steps[0].after[1]: this must be text, not an object
            {id: fetch, type: T, pool: p}, {id: b, type: T, pool: p, after: [fecth]}
                2:74: steps[1].after[0]: there is no step "fecth"; did you mean "fetch"?
            {id: b, type: T, pool: p}, {id: c, type: T, pool: p, after: [b, b]}
                2:73: steps[1].after[1]: "b" is named twice; name it once
            {id: b, type: T, pool: p}, {id: b, type: T, pool: p}
                2:41: steps[1].id: two steps have the id "b"; the first one is at 2:14
            {id: a, type: T, pool: p, depends_on: [b]}, {id: b, type: T, pool: p, depends_on: [a]}
                2:47: steps[0].depends_on: these steps wait for one another: a → b → a; remove one of the edges
            {id: a, type: T, pool: p}, {id: b, type: T, pool: p, after: [a], depends_on: [a]}
                2:86: steps[1].depends_on: after and depends_on are two names of one field; keep one of them
        "#]],
    );
}

#[test]
fn a_long_cycle_is_told_in_short() {
    let step = |n: usize| format!("{{id: s{n}, type: T, pool: p, after: [s{}]}}", (n + 1) % 300);
    let steps: Vec<String> = (0..300).map(step).collect();
    check_steps(
        &[&steps.join(", ")],
        expect![[r#"
        {id: s0, type: T, pool: p, after: [s1]}, {id: s1, type: T, pool: p, after: [s2]}, {id: s2, type: T, 
            2:43: steps[0].after: these steps wait for one another: s0 → s299 → s298 → s297 → s296 → … → s4 → s3 → s2 → s1 → s0; remove one of the edges
    "#]],
    );
}

#[test]
fn a_compensation_is_a_plain_sequence() {
    // X-042: what undoes a step has no undo of its own, and no gates or edges.
    check_step(
        &["on_failure: undo", "on_failure: []"],
        expect![[r#"
        on_failure: undo
            6:15: steps[0].on_failure: there is no compensation "undo"; add it under compensations
        on_failure: []
            6:15: steps[0].on_failure: this must be text, not a list
    "#]],
    );
    let many: Vec<String> = (0..101).map(|n| format!("u{n}: []")).collect();
    let many = format!("compensations: {{{}}}", many.join(", "));
    let cases = [
        "compensations: [undo]",
        "compensations: {undo: {}}",
        "compensations: {'a b': [{id: x, type: T, pool: p}]}",
        "compensations: {undo: [{id: x, type: T, pool: p}, {id: x, type: T, pool: p}]}",
        "compensations: {undo: [{id: x, type: T, pool: p, after: [y], gate: g}]}",
        "compensations: {undo: [{id: x, type: T, pool: p, on_failure: undo, payload_schema: {}}]}",
        &many,
    ];
    check_top(
        &cases,
        expect![[r#"
        compensations: [undo]
            3:16: compensations: this must be an object, not a list
        compensations: {undo: {}}
            3:23: compensations.undo: this must be a list, not an object
        compensations: {'a b': [{id: x, type: T, pool: p}]}
            3:24: compensations["a b"]: "a b" cannot be the name of a compensation; use letters, digits, '.', '_' and '-', and begin with a letter or a digit
        compensations: {undo: [{id: x, type: T, pool: p}, {id: x, type: T, pool: p}]}
            3:56: compensations.undo[1].id: two steps have the id "x"; the first one is at 3:29
        compensations: {undo: [{id: x, type: T, pool: p, after: [y], gate: g}]}
            3:57: compensations.undo[0].after: a step of a compensation has no after; its steps follow one another; remove the field
            3:68: compensations.undo[0].gate: a step of a compensation has no gate; its steps follow one another; remove the field
        compensations: {undo: [{id: x, type: T, pool: p, on_failure: undo, payload_schema: {}}]}
            3:62: compensations.undo[0].on_failure: a step of a compensation has no on_failure; its steps follow one another; remove the field
            3:84: compensations.undo[0].payload_schema: a step of a compensation has no payload_schema; its steps follow one another; remove the field
        compensations: {u0: [], u1: [], u2: [], u3: [], u4: [], u5: [], u6: [], u7: [], u8: [], u9: [], u10:
            3:16: compensations: there are 101 compensations; write at most 100
    "#]],
    );
}

#[test]
fn a_placeholder_that_nothing_can_fill_is_refused() {
    let cases = [
        "params: {a: '{{_jobid}}', b: ['{{_secret}}']}",
        "params: {a: '{{', b: '{{}}', c: '{{a b}}'}",
    ];
    check_step(
        &cases,
        expect![[r#"
            params: {a: '{{_jobid}}', b: ['{{_secret}}']}
                6:15: steps[0].params.a: there is no variable "_jobid"; did you mean "_job_id"?
                6:33: steps[0].params.b[0]: there is no variable "_secret"; known here are _correlation_id, _doc_id, _input_ref, _job_id, _output_ref, _references, _request_type, _tenant_id, _user_id, _workspace_ref
            params: {a: '{{', b: '{{}}', c: '{{a b}}'}
                6:15: steps[0].params.a: a placeholder begins with {{ and is never closed; add }} after the name
                6:24: steps[0].params.b: a placeholder is empty; write a name between the braces, such as {{Email}}
                6:35: steps[0].params.c: "a b" cannot be a placeholder's name; use letters, digits, _, - and dots
        "#]],
    );
    check(
        "
name: a
input_schema: {properties: {language: {}, pages: {}}}
steps:
  - {id: one, type: '{{langauge}}', pool: p, params: {t: '{{text}}', x: '{{zebra}}'}}
  - {id: two, type: T, pool: p, outputs: {text: text}}
compensations:
  undo: [{id: u, type: T, pool: p, params: '{{pagse}} {{text}}'}]
",
        expect![[r#"
            5:21: steps[0].type: there is no variable "langauge"; did you mean "language"?
            5:58: steps[0].params.t: "text" is set by step "two", which is not before this one; add "two" to this step's after
            5:73: steps[0].params.x: there is no variable "zebra"; known here are language, pages
            8:44: compensations.undo[0].params: there is no variable "pagse"; did you mean "pages"?"#]],
    );
    check(
        "
name: a
input_schema: {properties: {}}
steps:
  - {id: one, type: T, pool: p, outputs: {x: x}}
  - {id: two, type: T, pool: p, after: [], params: '{{x}} {{y}}'}
",
        expect![[r#"
            6:52: steps[1].params: "x" is set by step "one", which is not before this one; add "one" to this step's after
            6:52: steps[1].params: there is no variable "y"; list it in the properties of input_schema"#]],
    );
}

#[test]
fn a_schema_that_is_none_is_refused_where_it_is_wrong() {
    let cases = [
        "input_schema: yes",
        "input_schema: {properties: {a: {type: strnig}, b: {minimum: x}}}",
        "input_schema: {properties: {a: {pattern: '['}}}",
        "input_schema: {properties: {a: {pattern: '(?=a)b'}}}",
        "input_schema: {properties: {a: {pattern: '(a{1000}){1000}'}}}",
        "input_schema: {properties: {a: {format: e-mail}}}",
        "input_schema: {$ref: '#/$defs/nowhere'}",
    ];
    check_top(
        &cases,
        expect![[r#"
            input_schema: yes
                3:15: input_schema: a JSON Schema must be an object
            input_schema: {properties: {a: {type: strnig}, b: {minimum: x}}}
                3:39: input_schema.properties.a.type: this is not JSON Schema: the types are null, boolean, integer, number, string, array and object
                3:61: input_schema.properties.b.minimum: this is not JSON Schema: this value is not of type "number"
            input_schema: {properties: {a: {pattern: '['}}}
                3:42: input_schema.properties.a.pattern: this is not a pattern that can be matched quickly: it is malformed or too large, or it looks around or back
            input_schema: {properties: {a: {pattern: '(?=a)b'}}}
                3:42: input_schema.properties.a.pattern: this is not a pattern that can be matched quickly: it is malformed or too large, or it looks around or back
            input_schema: {properties: {a: {pattern: '(a{1000}){1000}'}}}
                3:42: input_schema.properties.a.pattern: this is not a pattern that can be matched quickly: it is malformed or too large, or it looks around or back
            input_schema: {properties: {a: {format: e-mail}}}
                3:41: input_schema.properties.a.format: this is not JSON Schema: Unknown format: 'e-mail'
            input_schema: {$ref: '#/$defs/nowhere'}
                3:15: input_schema: a $ref must lead to a place in the same schema: Pointer '/$defs/nowhere' does not exist
        "#]],
    );
    let cases = [
        "payload_schema: [a]",
        "payload_schema: {required: name}",
        "payload_schema: {$schema: 'http://json-schema.org/draft-07/schema#'}",
    ];
    check_step(
        &cases,
        expect![[r#"
        payload_schema: [a]
            6:19: steps[0].payload_schema: a JSON Schema must be an object
        payload_schema: {required: name}
            6:30: steps[0].payload_schema.required: this is not JSON Schema: this value is not of type "array"
        payload_schema: {$schema: 'http://json-schema.org/draft-07/schema#'}
            6:29: steps[0].payload_schema["$schema"]: "http://json-schema.org/draft-07/schema#" is not supported; remove it or write https://json-schema.org/draft/2020-12/schema
    "#]],
    );
}

#[test]
fn a_schema_is_never_fetched() {
    let cases = [
        "input_schema: {$ref: 'http://127.0.0.1:1/schema.json'}",
        "input_schema: {properties: {a: {$ref: 'file:///etc/hostname'}}}",
    ];
    check_top(
        &cases,
        expect![[r#"
        input_schema: {$ref: 'http://127.0.0.1:1/schema.json'}
            3:15: input_schema: a $ref must lead to a place in the same schema: Resource 'http://127.0.0.1:1/schema.json' is not present in a registry
        input_schema: {properties: {a: {$ref: 'file:///etc/hostname'}}}
            3:15: input_schema: a $ref must lead to a place in the same schema: Resource 'file:///etc/hostname' is not present in a registry
    "#]],
    );
}

#[test]
fn a_document_cannot_hide_behind_the_format() {
    check(
        "name: !!str a",
        expect![
            "1:7: name: tags such as !!str are not allowed; remove the tag, and quote a value that must be text"
        ],
    );
    check(
        "base: &b {type: T}\nname: a\nsteps: [{<<: *b, id: s, pool: p}]",
        expect!["3:10: steps[0]: merge keys (<<) are not allowed; write the fields out"],
    );
    check(
        "name: a\nname: b",
        expect![[r#"2:1: the key "name" appears twice in this object; the first one is at 1:1"#]],
    );
    check(
        &format!("name: a\ndescription: {}", "x".repeat(300_000)),
        expect!["the document has 300021 bytes; 256 KiB are allowed"],
    );
    let mut bomb = String::from("name: a\nx0: &x0 [a, a, a, a, a, a, a, a]\n");
    for level in 1..9 {
        let aliases = vec![format!("*x{}", level - 1); 8].join(", ");
        writeln!(bomb, "x{level}: &x{level} [{aliases}]").unwrap();
    }
    check(
        &bomb,
        expect![
            "6:15: x4[1]: the document is too large once its aliases are expanded; 20000 values and 1 MiB of text are allowed"
        ],
    );
}

#[test]
fn a_document_cannot_be_nested_without_end() {
    let deep = format!("name: a\nsteps: {}{}", "[".repeat(70), "]".repeat(70));
    let problems = stepwell_dialects::workflow::read(deep.as_bytes()).unwrap_err();
    let codes: Vec<&str> = problems.iter().map(|problem| problem.code).collect();
    assert_eq!(codes, ["too_deep"]);
}
