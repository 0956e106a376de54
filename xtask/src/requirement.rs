//! Ids of requirements: how they are written, and where they are declared.

use std::collections::BTreeSet;
use std::fmt;

/// Where the ids are declared, from the workspace root.
pub(crate) const CATALOG: &str = "docs/requirements.md";

/// The groups of the catalog, in its order.
pub(crate) const GROUPS: [char; 5] = ['A', 'B', 'C', 'D', 'X'];

/// One line of the catalog, such as `D-022`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Id {
    /// The letter.
    pub(crate) group: char,
    /// The number, counted from 1.
    pub(crate) number: u16,
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:03}", self.group, self.number)
    }
}

/// The ids the catalog declares: one a line, in the form `- **D-022** …`.
pub(crate) fn declared(catalog: &str) -> BTreeSet<Id> {
    catalog
        .lines()
        .filter_map(|line| line.strip_prefix("- **"))
        .filter_map(|line| id_at(line).filter(|_| line[5..].starts_with("**")))
        .collect()
}

/// The ids a text names. `D-021..D-024` and `D-021 … D-024` name all four.
pub(crate) fn named(text: &str) -> BTreeSet<Id> {
    let mut ids = BTreeSet::new();
    let mut range_from: Option<Id> = None;
    let mut rest = text;
    while let Some((before, id, after)) = next_id(rest) {
        match range_from {
            Some(from) if is_range_sign(before) && from.group == id.group => {
                ids.extend((from.number..=id.number).map(|number| Id { group: id.group, number }));
            }
            _ => {}
        }
        ids.insert(id);
        range_from = Some(id);
        rest = after;
    }
    ids
}

fn is_range_sign(between: &str) -> bool {
    matches!(between.trim(), ".." | "..=" | "..." | "…" | "–")
}

/// Splits `text` around its first id.
fn next_id(text: &str) -> Option<(&str, Id, &str)> {
    let mut previous = None;
    for (at, c) in text.char_indices() {
        let begins_word = !previous.is_some_and(is_word_character);
        if let Some(id) = id_at(&text[at..]).filter(|_| begins_word) {
            return Some((&text[..at], id, &text[at + 5..]));
        }
        previous = Some(c);
    }
    None
}

/// The id that `text` begins with: a group letter, a dash, exactly three digits.
fn id_at(text: &str) -> Option<Id> {
    let group = text.chars().next().filter(|letter| GROUPS.contains(letter))?;
    let digits = text[1..].strip_prefix('-')?.get(..3)?;
    let ends_word = !text[5..].starts_with(is_word_character);
    let all_digits = digits.bytes().all(|digit| digit.is_ascii_digit());
    let number = digits.parse().ok().filter(|_| ends_word && all_digits)?;
    Some(Id { group, number })
}

fn is_word_character(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '-'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let ids: Vec<String> = named(text).iter().map(Id::to_string).collect();
        assert_eq!(ids.join(" "), expected);
    }

    #[test]
    fn ids_are_found_in_prose() {
        check("D-022, X-142: the lane is stable (A-001).", "A-001 D-022 X-142");
    }

    #[test]
    fn a_range_names_all_its_ids() {
        check("D-021..D-024", "D-021 D-022 D-023 D-024");
        check("D-021 … D-023", "D-021 D-022 D-023");
        check("X-001..=X-002, A-009", "A-009 X-001 X-002");
    }

    #[test]
    fn a_range_across_groups_is_two_ids() {
        check("A-001..B-003", "A-001 B-003");
    }

    #[test]
    fn what_only_resembles_an_id_is_none() {
        check("E-001 AD-022 D-0220 D-22 utf-8 CVE-A-001 D-022x ü", "");
    }

    #[test]
    fn only_a_line_that_declares_an_id_declares_it() {
        let catalog = "see D-009\n- **D-001** Routes.\n- D-002 Not bold.\n- **D-003**: no\n";
        let ids: Vec<String> = declared(catalog).iter().map(Id::to_string).collect();
        assert_eq!(ids, ["D-001", "D-003"]);
    }
}
