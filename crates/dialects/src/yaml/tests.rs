//! What is read, and what is refused with which words.

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;

#[track_caller]
fn check(text: impl AsRef<[u8]>, expected: Expect) {
    expected.assert_eq(&match read(text.as_ref()) {
        Ok(node) => node.to_json().to_string(),
        Err(problem) => format!("[{}] {problem}", problem.code),
    });
}

#[track_caller]
fn refusal(text: &str) -> &'static str {
    read(text.as_bytes()).unwrap_err().code
}

#[test]
fn a_document_becomes_a_tree() {
    check(
        "\u{feff}# a comment\nname: move\nsteps:\n  - {id: a, n: 3}\n  - 'b'\ntext: |\n  one\n  two\n",
        expect![[r#"{"name":"move","steps":[{"id":"a","n":3},"b"],"text":"one\ntwo\n"}"#]],
    );
}

#[test]
fn a_scalar_without_quotes_is_a_number_only_if_json_says_so() {
    check(
        "[1, -2, 1.5, 1e3, 18446744073709551615, true, False, null, ~, ]",
        expect!["[1,-2,1.5,1000.0,18446744073709551615,true,false,null,null]"],
    );
    check(
        "[no, 007, 0o17, 0x1F, 1_000, 12:30:45, 1e400, .5, +1, .inf, 99999999999999999999, '1', \"true\"]",
        expect![[
            r#"["no","007","0o17","0x1F","1_000","12:30:45","1e400",".5","+1",".inf","99999999999999999999","1","true"]"#
        ]],
    );
}

#[test]
fn every_value_and_key_knows_its_place() {
    let node = read(b"name: x\nsteps:\n  - id: a\n").unwrap();
    let steps = node.get("steps").unwrap();
    let id = steps.as_items().unwrap()[0].get("id").unwrap();
    assert_eq!(node.key_position("steps"), Some(Position { line: 2, column: 1 }));
    assert_eq!(id.position, Position { line: 3, column: 9 });
}

#[test]
fn what_is_not_yaml_is_refused_with_its_place() {
    check(
        "a: [1, 2",
        expect![
            "[yaml_syntax] 2:1: a[2]: this is not YAML: while parsing a flow sequence, expected ',' or ']'"
        ],
    );
    check(
        "a: b: c",
        expect![
            "[yaml_syntax] 1:5: this is not YAML: mapping values are not allowed in this context"
        ],
    );
    check(
        b"a: 1\nb: \xff",
        expect![
            "[not_utf8] 2:4: the text is not UTF-8 from here on; save or send it with UTF-8 encoding"
        ],
    );
}

#[test]
fn keys_must_be_text_and_appear_once() {
    check(
        "a:\n  b: 1\n  c: 2\n  b: 3\n",
        expect![[
            r#"[duplicate_key] 4:3: a: the key "b" appears twice in this object; the first one is at 2:3"#
        ]],
    );
    check(
        "404: x",
        expect![[r#"[key_not_text] 1:1: the key "404" is not text; put it in quotes"#]],
    );
    check("'404': x", expect![[r#"{"404":"x"}"#]]);
    check(
        "? [a]\n: b",
        expect![[
            r#"[key_not_text] 1:3: a key must be text; if this is a placeholder, put the whole value in quotes: "{{name}}""#
        ]],
    );
    check(
        "base: &b {x: 1}\nuse:\n  <<: *b\n",
        expect!["[merge_key] 3:3: use: merge keys (<<) are not allowed; write the fields out"],
    );
    check("'<<': 1", expect![[r#"{"<<":1}"#]]);
}

#[test]
fn a_bare_placeholder_is_explained() {
    check(
        "to:\n  - {{Email}}\n",
        expect![[
            r#"[key_not_text] 2:6: to[0]: a key must be text; if this is a placeholder, put the whole value in quotes: "{{name}}""#
        ]],
    );
    check("to: \"{{Email}}\"", expect![[r#"{"to":"{{Email}}"}"#]]);
}

#[test]
fn tags_are_refused() {
    check(
        "a: !!python/object:os.system x",
        expect![
            "[tag] 1:4: a: tags such as !!str are not allowed; remove the tag, and quote a value that must be text"
        ],
    );
    check(
        "a: !!str 1",
        expect![
            "[tag] 1:4: a: tags such as !!str are not allowed; remove the tag, and quote a value that must be text"
        ],
    );
    check(
        "a: !mine [1]",
        expect![
            "[tag] 1:4: a: tags such as !!str are not allowed; remove the tag, and quote a value that must be text"
        ],
    );
}

#[test]
fn there_is_exactly_one_document() {
    check(
        "a: 1\n---\nb: 2\n",
        expect![
            "[several_documents] 2:1: a second document begins here, and only one is allowed; put it into a file of its own"
        ],
    );
    check("---\na: 1\n...\n", expect![[r#"{"a":1}"#]]);
    check("", expect!["[empty_document] the document is empty"]);
    check("# nothing\n", expect!["[empty_document] the document is empty"]);
    check("---\n", expect!["[empty_document] the document is empty"]);
    check("null", expect!["[empty_document] the document is empty"]);
}

#[test]
fn an_alias_stands_for_a_copy() {
    check("a: &x [1, 2]\nb: *x\n", expect![[r#"{"a":[1,2],"b":[1,2]}"#]]);
    check(
        "a: &x\n  b: [*x]\n",
        expect!["[endless_alias] 2:7: a.b[0]: this alias refers to a value that contains it"],
    );
    check(
        "a: *nobody",
        expect!["[yaml_syntax] 1:4: a: this is not YAML: while parsing node, found unknown anchor"],
    );
}

#[test]
fn an_alias_cannot_hide_depth() {
    let nested = |inner: &str| format!("{}{inner}{}", "[".repeat(40), "]".repeat(40));
    let text = format!("a: &a {}\nb: {}\n", nested(""), nested("*a"));
    assert_eq!(refusal(&text), "too_deep");
}

#[test]
fn a_flood_of_values_is_refused() {
    assert_eq!(refusal(&format!("[{}]", "1,".repeat(25_000))), "too_large");
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = read(&bytes);
    }

    #[test]
    fn any_yaml_like_text_is_read_or_refused(text in "([a-c]|: |- |\n|  |[\\[\\]{}&*!,?'\"|>%@#~<]){0,60}") {
        if let Ok(node) = read(text.as_bytes()) {
            let _ = node.to_json();
        }
    }
}
