//! From the rows of a source to batches.

use expect_test::{Expect, expect};
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use stepwell_core::time::Timestamp;
use stepwell_dialects::moment;
use stepwell_dialects::runbooks::document::DataSource;
use stepwell_dialects::runbooks::rows::{Grouping, group, nearest_mark};

use super::runbook;

/// A source whose members say when they start.
const SCHEDULED: &str = "
name: a
data_source:
  type: sqlite
  connection: SOURCE
  query: SELECT 1
  primary_key: Mail
  batch_time_column: Start
  multi_valued_columns:
    - {name: Aliases, format: semicolon_delimited}
    - {name: Groups, format: comma_delimited}
    - {name: Licenses, format: json_array}
phases: [{name: p, offset: T-0, steps: [{name: s, worker_id: w, function: F}]}]
";

pub(super) fn scheduled() -> DataSource {
    runbook(SCHEDULED).data_source
}

pub(super) fn immediate() -> DataSource {
    let text = SCHEDULED.replace("batch_time_column: Start", "batch_time: immediate");
    runbook(&text).data_source
}

pub(super) fn at(text: &str) -> Timestamp {
    moment::parse(text).expect("the test writes moments").0
}

pub(super) fn rows(list: Value) -> Vec<Map<String, Value>> {
    serde_json::from_value(list).expect("the test writes rows")
}

/// The batches as text: a line for each, then one for each row that was left out.
pub(super) fn shown(grouping: &Grouping) -> String {
    let mut lines = Vec::new();
    for group in &grouping.groups {
        let keys: Vec<&str> = group.members.iter().map(|member| member.key.as_str()).collect();
        lines.push(format!("{}: {}", group.start, keys.join(" ")));
    }
    lines.extend(grouping.skipped.iter().map(|skipped| format!("skipped {skipped}")));
    lines.extend(grouping.warnings.iter().map(|warning| format!("warning: {warning}")));
    lines.join("\n")
}

#[track_caller]
fn check(source: &DataSource, list: Value, expected: Expect) {
    expected.assert_eq(&shown(&group(source, rows(list), at("2026-03-10T09:58:00Z"))));
}

// A-036: equal moments are one batch, however they are written. X-057: a time without a zone is UTC.
#[test]
fn members_with_the_same_moment_are_one_batch() {
    let list = json!([
        {"Mail": "late", "Start": "2026-03-16T00:00:00Z"},
        {"Mail": "zulu", "Start": "2026-03-15T08:00:00Z"},
        {"Mail": "oslo", "Start": "2026-03-15T09:00:00+01:00"},
        {"Mail": "bare", "Start": "2026-03-15T08:00:00"},
        {"Mail": "blank", "Start": " 2026-03-15 08:00:00.000 "},
        {"Mail": "server", "Start": "2026-03-15 08:00:00.0000000 +00:00"},
        {"Mail": "short", "Start": "2026-03-15 08:00:00+00"},
        {"Mail": "named", "Start": "2026-03-15 08:00:00 UTC"},
        {"Mail": "day", "Start": "2026-03-15"},
    ]);
    check(
        &scheduled(),
        list,
        expect![[r#"
            2026-03-15T00:00:00.000Z: day
            2026-03-15T08:00:00.000Z: zulu oslo bare blank server short named
            2026-03-16T00:00:00.000Z: late
            warning: the source returns no column "Aliases", "Groups", "Licenses"; its columns are "Mail", "Start""#]],
    );
}

// A-037, X-048: the closest mark of five minutes, even if it lies ahead.
#[test]
fn whoever_starts_at_once_starts_at_the_closest_mark() {
    for (now, mark) in [
        ("2026-03-10T09:57:29.999Z", "2026-03-10T09:55:00.000Z"),
        ("2026-03-10T09:57:30Z", "2026-03-10T10:00:00.000Z"),
        ("2026-03-10T09:58:00Z", "2026-03-10T10:00:00.000Z"),
        ("2026-03-10T10:00:00Z", "2026-03-10T10:00:00.000Z"),
        ("2026-03-10T10:02:00Z", "2026-03-10T10:00:00.000Z"),
        ("2026-12-31T23:59:00Z", "2027-01-01T00:00:00.000Z"),
    ] {
        assert_eq!(nearest_mark(at(now)).to_string(), mark, "{now}");
    }
    let list = json!([{"Mail": "a", "Aliases": "", "Groups": "", "Licenses": ""}, {"Mail": "b"}]);
    check(&immediate(), list, expect!["2026-03-10T10:00:00.000Z: a b"]);
    check(&immediate(), json!([]), expect![""]);
}

// A-035: a row becomes an object by column, and columns of several values become lists.
#[test]
fn columns_of_several_values_become_lists() {
    let list = json!([
        {"Mail": "a", "Aliases": "x; y ;;z;", "Groups": " g1 ,g2", "Licenses": "[\"E3\", 5]", "Age": 7},
        {"Mail": "b", "Aliases": null, "Groups": "", "Licenses": "", "Age": null},
        {"Mail": "c", "Aliases": ["x;y"], "Groups": 17, "Licenses": ["E3"], "Vip": true},
        {"Mail": "d", "Licenses": "null"},
    ]);
    let grouping = group(&immediate(), rows(list), at("2026-03-10T10:00:00Z"));
    let data: Vec<String> = grouping.groups[0]
        .members
        .iter()
        .map(|member| serde_json::to_string(&member.data).unwrap())
        .collect();
    expect![[r#"
        {"Age":7,"Aliases":["x","y","z"],"Groups":["g1","g2"],"Licenses":["E3",5],"Mail":"a"}
        {"Age":null,"Aliases":[],"Groups":[],"Licenses":[],"Mail":"b"}
        {"Aliases":["x;y"],"Groups":[17],"Licenses":["E3"],"Mail":"c","Vip":true}
        {"Licenses":[],"Mail":"d"}"#]]
    .assert_eq(&data.join("\n"));
}

// A database that folds names returns `mail` for a query that says `Mail`.
#[test]
fn a_column_is_found_in_other_capitals_if_there_is_only_one() {
    let start = "2026-03-15T08:00:00Z";
    let list = json!([
        {"mail": "a", "start": start, "aliases": "x;y", "Groups": "", "Licenses": ""},
        {"MAIL": "exact wins", "Mail": "b", "START": start},
        {"MAIL": "one", "mail": "other", "Start": start},
    ]);
    let grouping = group(&scheduled(), rows(list), at(start));
    expect![[r#"
        2026-03-15T08:00:00.000Z: a b
        skipped row 3: there is no column "Mail""#]]
    .assert_eq(&shown(&grouping));
    assert_eq!(grouping.groups[0].members[0].data["aliases"], json!(["x", "y"]));
}

proptest! {
    // A-036: no row is lost, and none is used twice.
    #[test]
    fn every_row_is_in_one_batch_or_left_out_with_a_reason(
        list in prop::collection::vec((0_u8..20, 0_u8..4), 0..60),
    ) {
        let starts = ["2026-03-15T08:00:00Z", "2026-03-15T09:00:00+01:00", "2026-03-16", "never"];
        let row = |(key, start): &(u8, u8)| {
            json!({"Mail": *key, "Start": starts[usize::from(*start)]})
        };
        let list: Vec<Value> = list.iter().map(row).collect();
        let count = list.len();
        let grouping = group(&scheduled(), rows(Value::Array(list)), at("2026-03-10T10:00:00Z"));
        let members: Vec<&str> = grouping
            .groups
            .iter()
            .flat_map(|group| &group.members)
            .map(|member| member.key.as_str())
            .collect();
        prop_assert_eq!(members.len() + grouping.skipped.len(), count);
        let distinct: std::collections::BTreeSet<&str> = members.iter().copied().collect();
        prop_assert_eq!(distinct.len(), members.len());
        prop_assert!(grouping.groups.iter().all(|group| !group.members.is_empty()));
        prop_assert!(grouping.groups.is_sorted_by(|left, right| left.start < right.start));
    }
}
