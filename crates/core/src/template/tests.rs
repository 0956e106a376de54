//! What a placeholder becomes, and what is wrong with one that becomes nothing.

use expect_test::{Expect, expect};
use proptest::prelude::*;
use serde_json::json;

use super::*;

/// A member who has been given an account by an earlier step.
struct Sources {
    special: Value,
    outputs: Value,
    input: Value,
}

impl Sources {
    fn sample() -> Self {
        Self {
            special: json!({"_batch_id": 42, "_batch_start_time": "2025-03-15T00:00:00Z"}),
            outputs: json!({"AccountId": "a-1", "Shared": "from output",
                "user": {"tags": ["x", "y"]}}),
            input: json!({
                "FirstName": "Ada", "LastName": "Lovelace", "Shared": "from column",
                "Groups": ["staff", 7, null, ["deep"]], "Manager": null, "Active": true,
                "Quota": 10.5, "Site": {"city": "London", "a.b": 1}, "site.city": "exact",
                "mail": "1", "MAIL": "2", "_batch_id": "forged", "_secret": "forged",
                "Injected": "{{AccountId}} {{",
            }),
        }
    }

    fn scope(&self) -> Scope<'_> {
        let map = |value: &'static str, source| -> &Map<String, Value> {
            Value::as_object(source).expect(value)
        };
        Scope {
            special: map("special is an object", &self.special),
            outputs: map("outputs is an object", &self.outputs),
            input: map("input is an object", &self.input),
        }
    }
}

#[track_caller]
fn check(value: Value, expected: Expect) {
    let sources = Sources::sample();
    expected.assert_eq(&match resolve(&value, &sources.scope()) {
        Ok(resolved) => resolved.to_string(),
        Err(error) => error.to_string(),
    });
}

#[test]
fn placeholders_may_stand_anywhere_in_a_string() {
    // A-069: several per string, and at any depth of the params.
    check(json!("{{FirstName}} {{LastName}}"), expect![[r#""Ada Lovelace""#]]);
    check(
        json!({"to": [{"name": "Dear {{ FirstName }}!"}], "n": 1, "{{FirstName}}": true}),
        expect![[r#"{"n":1,"to":[{"name":"Dear Ada!"}],"{{FirstName}}":true}"#]],
    );
}

#[test]
fn names_come_from_the_member_its_outputs_and_the_system() {
    // A-070, A-071
    check(
        json!("{{FirstName}}, {{AccountId}}, {{_batch_id}}, {{_batch_start_time}}"),
        expect![[r#""Ada, a-1, 42, 2025-03-15T00:00:00Z""#]],
    );
    check(json!("{{_batch_id}}"), expect!["42"]);
}

#[test]
fn a_function_name_may_be_a_template() {
    // A-073
    let sources = Sources { input: json!({"ObjectType": "EntraUser"}), ..Sources::sample() };
    assert_eq!(
        resolve_text("New-{{ObjectType}}", &sources.scope()).as_deref(),
        Ok("New-EntraUser")
    );
    assert_eq!(resolve_text("{{_batch_id}}", &sources.scope()).as_deref(), Ok("42"));
}

#[test]
fn an_output_overrules_a_column_and_the_system_overrules_both() {
    // X-036
    check(json!("{{Shared}}"), expect![[r#""from output""#]]);
    check(json!("{{_batch_id}}"), expect!["42"]);
}

#[test]
fn a_name_that_begins_with_an_underscore_is_never_member_data() {
    // X-036: reserved, so a column cannot pass itself off as the system's word.
    check(
        json!("{{_secret}}"),
        expect![
            "unresolved: _secret; names that begin with an underscore are reserved, and this one is not known"
        ],
    );
}

#[test]
fn a_name_matches_exactly_first_and_then_without_regard_to_capitals() {
    // X-037
    check(json!("{{mail}}{{MAIL}}"), expect![[r#""12""#]]);
    check(json!("{{firstname}} {{ACCOUNTID}}"), expect![[r#""Ada a-1""#]]);
    check(json!("{{shared}}"), expect![[r#""from output""#]]);
}

#[test]
fn a_name_that_fits_two_spellings_is_refused() {
    // X-037
    check(
        json!({"to": "{{Mail}}"}),
        expect!["/to: unresolved: Mail; write exactly the one you mean: MAIL or mail"],
    );
}

#[test]
fn a_lone_placeholder_keeps_its_type() {
    // X-038
    check(
        json!(["{{Quota}}", "{{ Active }}", "{{Manager}}", "{{Groups}}", "{{Site}}"]),
        expect![[r#"[10.5,true,null,["staff",7,null,["deep"]],{"a.b":1,"city":"London"}]"#]],
    );
}

#[test]
fn an_embedded_value_is_rendered_plainly() {
    // X-038: arrays joined by commas, null as nothing.
    check(json!("q={{Quota}} a={{Active}}"), expect![[r#""q=10.5 a=true""#]]);
    check(json!("[{{Manager}}] [{{Groups}}]"), expect![[r#""[] [staff,7,,deep]""#]]);
    check(json!("site: {{Site}}"), expect![[r#""site: {\"a.b\":1,\"city\":\"London\"}""#]]);
}

#[test]
fn a_dotted_name_is_first_a_name_and_then_a_path() {
    check(json!("{{site.city}}"), expect![[r#""exact""#]]);
    check(json!("{{user.tags.1}}"), expect![[r#""y""#]]);
    check(json!("{{Site.a.b}}"), expect!["1"]);
    check(
        json!("{{user.tags.2}}"),
        expect!["unresolved: user.tags.2; there is no such column, output or special variable"],
    );
}

#[test]
fn an_unknown_name_is_an_error_and_never_an_empty_string() {
    // A-074
    check(
        json!({"users": [{"a/b": "{{FristName}}"}]}),
        expect![[r#"/users/0/a~1b: unresolved: FristName; did you mean "FirstName"?"#]],
    );
    check(
        json!("x {{Nothing}} y"),
        expect!["unresolved: Nothing; there is no such column, output or special variable"],
    );
}

#[test]
fn a_malformed_placeholder_is_refused() {
    check(
        json!("Dear {{FirstName"),
        expect!["a placeholder begins with {{ and is never closed; add }} after the name"],
    );
    check(
        json!("{{  }}"),
        expect!["a placeholder is empty; write a name between the braces, such as {{Email}}"],
    );
    check(
        json!("{{a b}}"),
        expect![[r#""a b" cannot be a placeholder's name; use letters, digits, _, - and dots"#]],
    );
    check(
        json!("{{{FirstName}}}"),
        expect![[
            r#""{FirstName" cannot be a placeholder's name; use letters, digits, _, - and dots"#
        ]],
    );
    check(
        json!(format!("{{{{{}}}}}", "x".repeat(129))),
        expect!["a placeholder's name is longer than 128 characters"],
    );
    check(json!("{FirstName} }} {"), expect![[r#""{FirstName} }} {""#]]);
}

#[test]
fn data_that_looks_like_a_template_is_left_as_it_is() {
    check(json!("{{Injected}}"), expect![[r#""{{AccountId}} {{""#]]);
    check(json!("<{{Injected}}>"), expect![[r#""<{{AccountId}} {{>""#]]);
}

#[test]
fn a_resolved_value_has_a_limit() {
    // X-163: refused while it is put together, so that it never takes the memory.
    let sources = Sources { input: json!({"big": "x".repeat(200_000)}), ..Sources::sample() };
    let many = Value::String("{{big}}".repeat(30_000));
    assert!(resolve(&json!("{{big}}"), &sources.scope()).is_ok());
    for value in [many, json!({"a": "{{big}}", "b": "{{big}}"})] {
        let error = resolve(&value, &sources.scope()).unwrap_err();
        assert_eq!(error.fault, TemplateFault::TooLarge);
    }
}

#[test]
fn the_variables_of_a_value_are_known_before_it_is_resolved() {
    let value = json!({"a": "{{x}} {{y.z}}", "b": [{"c": "{{ x }}"}], "{{k}}": 1});
    let names: Vec<String> = variables(&value).unwrap().into_iter().collect();
    assert_eq!(names, ["x", "y.z"]);
    let error = variables(&json!({"a": ["fine", "{{oops"]})).unwrap_err();
    assert_eq!((error.at.as_str(), error.fault), ("/a/1", TemplateFault::Unclosed));
}

#[test]
fn a_name_that_nothing_can_provide_is_known_before_any_value_is() {
    // X-034: columns, outputs and special variables are known when a phase is dispatched.
    let known = ["_batch_id", "Mail", "user"];
    for name in ["_batch_id", "Mail", "mail", "user.tags.0", "USER.x"] {
        assert!(is_known(name, known), "{name}");
    }
    for name in ["_batch", "Mails", "tags.user", ""] {
        assert!(!is_known(name, known), "{name}");
    }
}

#[test]
fn an_output_is_read_from_data_and_then_from_the_top() {
    // A-076, X-039
    let result =
        json!({"id": "top", "data": {"id": "inner", "user": {"mail": ["a@b"]}}, "top": {"x": 1}});
    assert_eq!(output(&result, "id"), Some(&json!("inner")));
    assert_eq!(output(&result, "user.mail.0"), Some(&json!("a@b")));
    assert_eq!(output(&result, "top.x"), Some(&json!(1)));
    assert_eq!(output(&result, "data.id"), Some(&json!("inner")));
    assert_eq!(output(&result, "missing"), None);
    assert_eq!(output(&json!("text"), "id"), None);
}

proptest! {
    #[test]
    fn rendering_any_data_returns_it_unchanged(data in "(\\{\\{|\\}\\}|[a-z_.{} ]|\\PC){0,40}") {
        let sources = Sources { input: json!({"data": data}), ..Sources::sample() };
        prop_assert_eq!(resolve(&json!("{{data}}"), &sources.scope()), Ok(json!(data)));
        let around = resolve(&json!("<{{data}}>"), &sources.scope());
        prop_assert_eq!(around, Ok(json!(format!("<{data}>"))));
    }

    #[test]
    fn a_template_is_resolved_or_refused_and_never_panics(text in "(\\{\\{|\\}\\}|[a-z_.{} ]|\\PC){0,40}") {
        let sources = Sources::sample();
        let asked = variables(&json!(text));
        let resolved = resolve(&json!(text), &sources.scope());
        prop_assert!(asked.is_ok() || resolved.is_err());
        if !text.contains("{{") {
            prop_assert_eq!(resolved, Ok(json!(text)));
        }
    }
}
