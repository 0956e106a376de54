//! A list of members as CSV: what is refused, and in which words.

use expect_test::{Expect, expect};
use stepwell_dialects::runbooks::members_csv::{BYTES_MAX, MEMBERS_MAX, read};

use super::members_csv::greetings;
use super::{MAILBOXES, runbook};

#[track_caller]
fn check(bytes: impl AsRef<[u8]>, expected: Expect) {
    let runbook = greetings();
    let problems = read(bytes.as_ref(), &runbook).expect_err("the list is refused");
    let listed = problems.in_file("members.csv").to_string();
    expected.assert_eq(&listed.replace("; ", ";\n  "));
}

// X-082: a missing key column, and which columns there are.
#[test]
fn a_list_without_the_key_column_is_refused() {
    check(
        "Mail,Name\na,b\n",
        expect![[r#"
            members.csv:1:1: the key column "Id" is missing;
              the columns are "Mail", "Name""#]],
    );
    check(
        "",
        expect![[r#"
            members.csv: the list is empty;
              write a line of column names, then a line for each member"#]],
    );
    check(
        "\u{feff}\r\n\r\n",
        expect![[r#"
            members.csv: the list is empty;
              write a line of column names, then a line for each member"#]],
    );
    check(
        "Id,Name\n",
        expect![[r#"
            members.csv: the list has a header and no members;
              write a line of column names, then a line for each member"#]],
    );
}

#[test]
fn columns_that_steps_need_are_all_named() {
    let runbook = runbook(MAILBOXES);
    let problems = read(b"UserPrincipalName,FirstName\na,b\n", &runbook).unwrap_err();
    expect![[r#"
        1:1: steps use columns that are missing: "LastName", "ObjectType";
          add them;
          the runbook's CSV template has every column"#]]
    .assert_eq(&problems.to_string().replace("; ", ";\n  "));
}

// X-082: empty and duplicate keys, with the lines of both.
#[test]
fn keys_that_are_empty_or_named_twice_are_listed_with_their_lines() {
    check(
        "Id,Name\r\n1,\"Ada\r\nLovelace\"\r\n\r\n,Alan\r\n2,Grace\r\n 1 ,Ada\r\n\"3\n4\",x\r\n",
        expect![[r#"
            members.csv:5:1: Id: the key is empty;
              give every member a key, and remove lines that are empty
            members.csv:7:1: Id: "1" is already on line 2;
              name each member once
            members.csv:8:1: Id: the key holds a line break or another control character"#]],
    );
}

#[test]
fn lines_of_another_length_are_listed() {
    check(
        "Id,Name\n1,Ada\n2\n3,Grace,Hopper\n4,Alan\n",
        expect![[r#"
            members.csv:3:1: columns in the header: 2, values on this line: 1;
              put a value that holds a comma or a line break in quotation marks
            members.csv:4:1: columns in the header: 2, values on this line: 3;
              put a value that holds a comma or a line break in quotation marks"#]],
    );
}

// A quotation mark that is never closed would swallow every member after it without a word.
#[test]
fn an_open_quotation_mark_is_found() {
    check(
        "Id,Name\n1,\"Ada\n2,Alan\n3,Grace\n",
        expect![[r#"
            members.csv:2:1: the quotation mark that opens a value here is never closed;
              close it, or double it if it belongs to the value"#]],
    );
    let runbook = greetings();
    assert!(read(b"Id,Name\n1,\"A \"\"quoted\"\" name\"", &runbook).is_ok());
    assert!(read(b"Id,Name\n1,19\" screen\n", &runbook).is_ok());
}

#[test]
fn another_delimiter_is_named() {
    check(
        "Id;Name\n1;Ada\n",
        expect![[r#"
            members.csv:1:1: the columns are told apart by semicolons;
              save the list with commas"#]],
    );
    check(
        "Name\tId\nAda\t1\n",
        expect![[r#"
            members.csv:1:1: the columns are told apart by tabs;
              save the list with commas"#]],
    );
    check(
        "Name, first;\"Id\"\nAda;1\n",
        expect![[r#"
            members.csv:1:1: the columns are told apart by semicolons;
              save the list with commas"#]],
    );
    check(
        "sep=;\nId;Name\n1;Ada\n",
        expect![[r#"
            members.csv:1:1: the first line is not a line of columns;
              remove it, and tell columns apart by commas"#]],
    );
}

#[test]
fn columns_without_a_name_or_with_the_same_are_refused() {
    check(
        "Id,Name,,ID\n1,Ada,,2\n",
        expect![[r#"
            members.csv:1:1: column 3 has no name;
              name it, or remove it from every line
            members.csv:1:1: columns 1 and 4 are both "ID";
              name each column once"#]],
    );
    let wide = format!("Id,{}\n", vec!["x"; 1_000].join(","));
    check(
        wide,
        expect![[r#"
        members.csv:1:1: the list has 1001 columns;
          keep at most 1000 of them"#]],
    );
}

#[test]
fn other_encodings_are_refused_with_the_line() {
    check(
        b"Id,Name\n1,Ada\n2,J\xf6rg\n",
        expect![[r#"
            members.csv:3:4: the text is not UTF-8 from here on;
              save or send it with UTF-8 encoding"#]],
    );
    check(
        b"\xff\xfeI\0d\0",
        expect![[r#"
            members.csv: the list is UTF-16;
              save or send it as CSV with UTF-8 encoding"#]],
    );
    check(
        b"I\0d\0,\0",
        expect![[r#"
            members.csv:1:2: the list holds a NUL character here: it is no text, or UTF-16;
              save or send it as CSV with UTF-8 encoding"#]],
    );
}

#[test]
fn a_column_of_several_values_must_hold_them() {
    let runbook = runbook(MAILBOXES);
    let text = "UserPrincipalName,FirstName,LastName,ObjectType,Licenses\na,b,c,d,E3\n";
    let problems = read(text.as_bytes(), &runbook).unwrap_err();
    expect![[r#"
        2:1: Licenses: "E3" is not a JSON array;
          write ["one", "two"], or leave it empty"#]]
    .assert_eq(&problems.to_string().replace("; ", ";\n  "));
}

#[test]
fn of_many_problems_the_first_hundred_are_listed_and_the_others_counted() {
    let text = format!("Id,Name\n{}", "1,Ada\n".repeat(5_001));
    let runbook = greetings();
    let problems = read(text.as_bytes(), &runbook).unwrap_err();
    assert_eq!(problems.iter().count(), 101);
    let last = problems.iter().last().unwrap();
    assert_eq!(last.message, "there are 4900 more problems");
    assert_eq!(problems.iter().next().unwrap().position.unwrap().line, 3);
}

#[test]
fn a_list_that_is_too_long_is_refused_at_once() {
    check(
        vec![b'x'; BYTES_MAX + 1],
        expect![[r#"
            members.csv: the list is longer than 200 MB;
              make several batches of it"#]],
    );
    let mut text = String::from("Id,Name\n");
    for key in 0..=MEMBERS_MAX {
        text.push_str(&key.to_string());
        text.push_str(",x\n");
    }
    check(
        text,
        expect![[r#"
            members.csv: the list has more than 1,000,000 members;
              make several batches of it"#]],
    );
}
