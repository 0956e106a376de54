//! What a condition means, and what is wrong with one that means nothing.

use expect_test::{Expect, expect};
use proptest::prelude::*;
use serde_json::{Map, json};

use super::*;
use crate::template::Scope;

/// A judgment with a few variables at hand, or why there is none.
fn judged(text: &str) -> String {
    let input = json!({
        "country": "NO", "count": 3, "size": 2.5, "approved": true, "note": "", "none": null,
        "tags": ["new", "large", 7], "owner": {"age": 40, "mail": "a@b"}, "big": u64::MAX,
        "empty": [], "Name": 1, "NAME": 2,
    });
    let Value::Object(input) = input else { unreachable!("written as an object") };
    let (special, outputs) = (Map::new(), Map::new());
    let scope = Scope { special: &special, outputs: &outputs, input: &input };
    match Condition::read(text).map(|condition| condition.holds(&scope)) {
        Ok(Ok(holds)) => if holds { "yes" } else { "no" }.to_owned(),
        Ok(Err(error)) => format!("cannot be judged: {error}"),
        Err(error) => format!("cannot be read: {error}"),
    }
}

#[track_caller]
fn check(texts: &[&str], expected: Expect) {
    let lines: Vec<String> =
        texts.iter().map(|text| format!("{text}  →  {}", judged(text))).collect();
    expected.assert_eq(&lines.join("\n"));
}

// X-112: a value on its own counts as yes unless it is nothing, false, zero or empty.
#[test]
fn a_value_on_its_own_counts_as_yes_or_no() {
    check(
        &[
            "{{approved}}",
            "{{none}}",
            "{{nowhere}}",
            "{{count}}",
            "{{note}}",
            "{{empty}}",
            "{{owner}}",
            "{{owner.mail}}",
            "{{owner.phone}}",
            "0",
            "-0.0",
            "'false'",
            "false",
        ],
        expect![[r#"
            {{approved}}  →  yes
            {{none}}  →  no
            {{nowhere}}  →  no
            {{count}}  →  yes
            {{note}}  →  no
            {{empty}}  →  no
            {{owner}}  →  yes
            {{owner.mail}}  →  yes
            {{owner.phone}}  →  no
            0  →  no
            -0.0  →  no
            'false'  →  yes
            false  →  no"#]],
    );
}

#[test]
fn values_are_compared_by_what_they_are() {
    check(
        &[
            "{{country}} == 'NO'",
            "{{country}} == \"no\"",
            "{{country}} != 'SE'",
            "{{count}} == 3.0",
            "{{count}} == '3'",
            "{{count}} >= 3",
            "{{size}} < {{count}}",
            "{{big}} == 18446744073709551615",
            "{{big}} > 18446744073709551614",
            "'a' < 'b'",
            "{{nowhere}} == null",
            "{{tags}} == ['new', 'large', 7.0]",
            "-0.0 == 0",
        ],
        expect![[r#"
            {{country}} == 'NO'  →  yes
            {{country}} == "no"  →  no
            {{country}} != 'SE'  →  yes
            {{count}} == 3.0  →  yes
            {{count}} == '3'  →  no
            {{count}} >= 3  →  yes
            {{size}} < {{count}}  →  yes
            {{big}} == 18446744073709551615  →  yes
            {{big}} > 18446744073709551614  →  yes
            'a' < 'b'  →  yes
            {{nowhere}} == null  →  yes
            {{tags}} == ['new', 'large', 7.0]  →  yes
            -0.0 == 0  →  yes"#]],
    );
}

#[test]
fn in_asks_whether_a_list_holds_a_value() {
    check(
        &[
            "{{country}} in ['SE', 'NO']",
            "{{country}} not in ['SE', 'NO']",
            "7 in {{tags}}",
            "{{count}} in []",
            "{{country}} in ['SE', {{country}}]",
        ],
        expect![[r#"
            {{country}} in ['SE', 'NO']  →  yes
            {{country}} not in ['SE', 'NO']  →  no
            7 in {{tags}}  →  yes
            {{count}} in []  →  no
            {{country}} in ['SE', {{country}}]  →  yes"#]],
    );
}

#[test]
fn not_binds_closest_then_and_then_or() {
    check(
        &[
            "true or true and false",
            "(true or true) and false",
            "not false and false",
            "not (false and false)",
            "not {{country}} == 'SE'",
            "not not true",
            "{{none}} != null and {{none}} > 3",
            "{{approved}} or {{none}} > 3",
        ],
        expect![[r#"
            true or true and false  →  yes
            (true or true) and false  →  no
            not false and false  →  no
            not (false and false)  →  yes
            not {{country}} == 'SE'  →  yes
            not not true  →  yes
            {{none}} != null and {{none}} > 3  →  no
            {{approved}} or {{none}} > 3  →  yes"#]],
    );
}

// X-112: values that have no order are said to have none; nothing is guessed, and nothing repeated.
#[test]
fn what_cannot_be_compared_is_said_so_without_its_value() {
    check(
        &[
            "{{country}} < 3",
            "{{none}} > 1",
            "{{owner}} >= {{tags}}",
            "1 in {{country}}",
            "{{name}} == 1",
        ],
        expect![[r#"
            {{country}} < 3  →  cannot be judged: {{country}} < 3: a text and a number have no order; compare two numbers or two texts
            {{none}} > 1  →  cannot be judged: {{none}} > 1: null and a number have no order; compare two numbers or two texts
            {{owner}} >= {{tags}}  →  cannot be judged: {{owner}} >= {{tags}}: an object and a list have no order; compare two numbers or two texts
            1 in {{country}}  →  cannot be judged: 1 in {{country}}: in asks for a list on its right, not for a text
            {{name}} == 1  →  cannot be judged: unresolved: name; write exactly the one you mean: NAME or Name"#]],
    );
}

#[test]
fn a_malformed_condition_says_at_which_character_and_what_to_write() {
    check(
        &[
            "",
            "approved",
            "{{a}} = 1",
            "{{a}} && {{b}}",
            "!{{a}}",
            "{{a}} == 'x",
            "{{a == 1",
            "{{}}",
            "'{{a}}' == 'x'",
            "({{a}}",
            "{{a}})",
            "{{a}} in [1, ]",
            "{{a}} in [1 2]",
            "{{a}} not 3",
            "{{a}} ==",
            "1 < {{a}} < 3",
            "007 == {{a}}",
            "{{a}} == 1.",
            "{{a}} ~ 1",
            "and {{a}}",
            "{{a}} == -",
            "12x == {{a}}",
            "{{a}} == (1)",
        ],
        expect![[r#"
              →  cannot be read: at character 1: the condition is empty; write one such as {{approved}} or {{country}} == 'NO'
            approved  →  cannot be read: at character 1: approved has no meaning here; a variable is written {{approved}} and a text 'approved'; the words are and, or, not, in, true, false and null
            {{a}} = 1  →  cannot be read: at character 7: = has no meaning here; write ==
            {{a}} && {{b}}  →  cannot be read: at character 7: && has no meaning here; write and
            !{{a}}  →  cannot be read: at character 1: ! has no meaning here; write not
            {{a}} == 'x  →  cannot be read: at character 10: a text begins with ' and is never closed
            {{a == 1  →  cannot be read: at character 1: a placeholder begins with {{ and is never closed; add }} after the name
            {{}}  →  cannot be read: at character 1: a placeholder is empty; write a name between the braces, such as {{Email}}
            '{{a}}' == 'x'  →  cannot be read: at character 1: a placeholder stands without quotes: {{name}}, not '{{name}}'
            ({{a}}  →  cannot be read: at character 7: the end of the condition stands where and, or, or a closing parenthesis is expected
            {{a}})  →  cannot be read: at character 6: ) stands where and, or, or the end of the condition is expected
            {{a}} in [1, ]  →  cannot be read: at character 14: ] stands where a value is expected
            {{a}} in [1 2]  →  cannot be read: at character 13: 2 stands where a comma or a closing bracket is expected
            {{a}} not 3  →  cannot be read: at character 11: 3 stands where in is expected
            {{a}} ==  →  cannot be read: at character 9: the end of the condition stands where a value is expected
            1 < {{a}} < 3  →  cannot be read: at character 11: < stands where and, or, or the end of the condition is expected
            007 == {{a}}  →  cannot be read: at character 1: 007 is not a number; a text stands in quotes: '007'
            {{a}} == 1.  →  cannot be read: at character 10: 1. is not a number; a text stands in quotes: '1.'
            {{a}} ~ 1  →  cannot be read: at character 7: '~' has no meaning here
            and {{a}}  →  cannot be read: at character 1: and stands where a value is expected
            {{a}} == -  →  cannot be read: at character 10: - is not a number; a text stands in quotes: '-'
            12x == {{a}}  →  cannot be read: at character 1: 12x is not a number; a text stands in quotes: '12x'
            {{a}} == (1)  →  cannot be read: at character 10: ( stands where a value is expected"#]],
    );
}

#[test]
fn a_condition_without_end_or_bottom_is_refused_before_it_costs_anything() {
    let fault = |text: &str| Condition::read(text).unwrap_err().fault;
    assert_eq!(fault(&"x".repeat(1_000_000)), ConditionFault::TooLong);
    assert_eq!(fault(&"(".repeat(500)), ConditionFault::TooDeep);
    assert_eq!(fault(&"not ".repeat(200)), ConditionFault::TooDeep);
    assert_eq!(fault(&"[".repeat(500)), ConditionFault::TooDeep);
    let deepest = format!("{}true{}", "(".repeat(32), ")".repeat(32));
    assert_eq!(judged(&deepest), "yes");
}

#[test]
fn the_names_in_a_condition_are_known_before_it_is_judged() {
    let text = "{{b.c}} in [1, {{a}}] or not ({{ d }} == 'e' and {{a}})";
    let condition = Condition::read(text).unwrap();
    assert_eq!(condition.variables().into_iter().collect::<Vec<_>>(), ["a", "b.c", "d"]);
}

fn name() -> impl Strategy<Value = String> {
    "[a-zA-Z_][a-zA-Z0-9_.-]{0,8}"
}

fn literal() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_filter_map("JSON has no such number", |number| {
            serde_json::Number::from_f64(number).map(Value::Number)
        }),
        "[^{]{0,12}".prop_map(Value::from),
    ]
}

fn operand() -> impl Strategy<Value = Operand> {
    let leaf =
        prop_oneof![name().prop_map(Operand::Variable), literal().prop_map(Operand::Literal),];
    leaf.prop_recursive(3, 12, 4, |inner| {
        proptest::collection::vec(inner, 0..4).prop_map(Operand::List)
    })
}

fn operator() -> impl Strategy<Value = Operator> {
    proptest::sample::select(vec![
        Operator::Equal,
        Operator::NotEqual,
        Operator::Less,
        Operator::AtMost,
        Operator::Greater,
        Operator::AtLeast,
        Operator::In,
        Operator::NotIn,
    ])
}

fn condition() -> impl Strategy<Value = Condition> {
    let leaf = prop_oneof![
        operand().prop_map(Condition::Value),
        (operand(), operator(), operand())
            .prop_map(|(left, operator, right)| Condition::Comparison { left, operator, right }),
    ];
    leaf.prop_recursive(4, 24, 3, |inner| {
        let several = || proptest::collection::vec(inner.clone(), 2..4);
        prop_oneof![
            inner.clone().prop_map(|opposite| Condition::Not(Box::new(opposite))),
            several().prop_map(Condition::All),
            several().prop_map(Condition::Any),
        ]
    })
}

proptest! {
    // X-112: what a condition prints is the same condition again, and judging it never panics.
    #[test]
    fn a_printed_condition_reads_as_the_same_condition(condition in condition()) {
        let text = condition.to_string();
        prop_assume!(text.chars().count() <= CONDITION_CHARS_MAX);
        prop_assert_eq!(Condition::read(&text), Ok(condition), "{}", text);
        judged(&text);
    }

    #[test]
    fn whatever_is_written_is_read_or_refused_at_a_place_in_it(
        text in "[a-z{}()\\[\\]'\"=!<>,. 0-9-]{0,40}",
    ) {
        match Condition::read(&text) {
            Ok(condition) => {
                prop_assert_eq!(Condition::read(&condition.to_string()), Ok(condition));
            }
            Err(error) => prop_assert!((1..=text.chars().count() + 1).contains(&error.at)),
        }
    }
}
