//! Rows that cannot be used: left out, with a reason.

use expect_test::expect;
use serde_json::json;
use stepwell_dialects::runbooks::rows::group;

use super::rows::{at, immediate, rows, scheduled, shown};

// X-057: duplicate, empty and unreadable keys and times; the first of two wins.
#[test]
fn a_row_without_a_key_or_a_time_is_left_out() {
    let start = "2026-03-15T08:00:00Z";
    let long = "x".repeat(257);
    let list = json!([
        {"Mail": "a", "Start": start, "Name": "first"},
        {"Mail": "a", "Start": start, "Name": "second"},
        {"Mail": " a ", "Start": start},
        {"Mail": null, "Start": start},
        {"Mail": "  ", "Start": start},
        {"Start": start},
        {"Mail": true, "Start": start},
        {"Mail": ["b"], "Start": start},
        {"Mail": "two\nlines", "Start": start},
        {"Mail": long, "Start": start},
        {"Mail": "c", "Start": null},
        {"Mail": "d", "Start": ""},
        {"Mail": "e", "Start": "15/03/2026"},
        {"Mail": "f", "Start": 1_773_561_600},
        {"Mail": "g", "Start": "2026-02-30T00:00:00Z"},
        {"Mail": "h", "Start": start, "Licenses": "E3"},
        {"Mail": "i", "Start": start, "Licenses": "{\"a\": 1}"},
        {"Mail": "e", "Start": start, "Aliases": "", "Groups": ""},
    ]);
    let grouping = group(&scheduled(), rows(list), at(start));
    expect![[r#"
        2026-03-15T08:00:00.000Z: a e
        skipped row 2 ("a"): row 1 has the same key
        skipped row 3 ("a"): row 1 has the same key
        skipped row 4: "Mail" is empty
        skipped row 5: "Mail" is empty
        skipped row 6: there is no column "Mail"
        skipped row 7: "Mail" is neither a text nor a number
        skipped row 8: "Mail" is neither a text nor a number
        skipped row 9: "Mail" holds a line break or another control character
        skipped row 10: "Mail" is longer than 256 characters
        skipped row 11 ("c"): "Start" is empty
        skipped row 12 ("d"): "Start" is empty
        skipped row 13 ("e"): "Start" is no time: "15/03/2026"; write it as 2026-03-15T08:00:00Z
        skipped row 14 ("f"): "Start" is no time: "1773561600"; write it as 2026-03-15T08:00:00Z
        skipped row 15 ("g"): "Start" is no time: "2026-02-30T00:00:00Z"; write it as 2026-03-15T08:00:00Z
        skipped row 16 ("h"): "Licenses" is not a JSON array
        skipped row 17 ("i"): "Licenses" is not a JSON array"#]]
    .assert_eq(&shown(&grouping));
    assert_eq!(grouping.groups[0].members[0].data["Name"], "first");
}

// X-057: counted, and said in one line for `last_error`.
#[test]
fn what_was_left_out_is_counted_in_one_line() {
    let list =
        json!([{"Mail": "a"}, {"Mail": ""}, {"Mail": "a"}, {}, {"Mail": false}, {"Mail": null}]);
    let grouping = group(&immediate(), rows(list), at("2026-03-10T10:00:00Z"));
    expect![[r#"
        5 of 6 rows skipped: row 2: "Mail" is empty;
        row 3 ("a"): row 1 has the same key;
        row 4: there is no column "Mail";
        and 2 more"#]]
    .assert_eq(&grouping.skipped_summary().unwrap().replace("; ", ";\n"));
    let sound = group(&immediate(), rows(json!([{"Mail": "a"}])), at("2026-03-10T10:00:00Z"));
    assert_eq!(sound.skipped_summary(), None);
}

// X-051: an answer without one usable row says nothing about who has left.
#[test]
fn an_answer_without_a_usable_row_is_unusable() {
    let now = at("2026-03-10T10:00:00Z");
    let unusable = |list| group(&scheduled(), rows(list), now).unusable();
    assert_eq!(unusable(json!([])).as_deref(), Some("the source returned no rows"));
    assert!(unusable(json!([{"Mail": "a", "Start": "soon"}])).is_some());
    assert_eq!(unusable(json!([{"Mail": "a", "Start": "2026-03-15"}, {"Mail": ""}])), None);
}

// X-057: a key is a text, whatever the source keeps it as.
#[test]
fn a_number_is_a_key() {
    let list = json!([
        {"Mail": 17}, {"Mail": 17.0}, {"Mail": "17"}, {"Mail": 9_007_199_254_740_993_u64},
        {"Mail": -2.5}, {"Mail": 1e300},
    ]);
    let grouping = group(&immediate(), rows(list), at("2026-03-10T10:00:00Z"));
    let keys: Vec<&str> =
        grouping.groups[0].members.iter().map(|member| member.key.as_str()).collect();
    assert_eq!(keys, ["17", "9007199254740993", "-2.5", "1e+300"]);
    assert_eq!(grouping.groups[0].members[0].data["Mail"], json!(17), "the data keeps its type");
}

// A query that lost its key column is one fault, not twenty thousand.
#[test]
fn a_column_that_no_row_has_is_said_once() {
    let list = json!([{"Email": "a", "_batch": 1, "Start": "2026-03-15"}, {"Email": "b"}]);
    let grouping = group(&scheduled(), rows(list), at("2026-03-10T10:00:00Z"));
    expect![[
        r#"2 of 2 rows skipped: row 1: there is no column "Mail"; row 2: there is no column "Mail""#
    ]]
    .assert_eq(&grouping.unusable().unwrap());
    expect![[r#"
        the source returns no column "Mail", "Aliases", "Groups", "Licenses"; its columns are "Email", "Start", "_batch"
        no placeholder reaches "_batch": names that begin with _ are the system's own"#]]
    .assert_eq(&grouping.warnings.join("\n"));
}
