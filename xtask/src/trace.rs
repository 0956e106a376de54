//! `cargo xtask trace`: which requirements the tests prove, and which they do not.
//!
//! A requirement counts as covered when a test that runs names its id in a comment directly above
//! it or inside it. An id in a document, in a text or beside other code proves nothing.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::functions::functions;
use crate::requirement::{self, CATALOG, GROUPS, Id};
use crate::source::Source;
use crate::{Outcome, tree};

/// Prints what is covered and what is missing; fails when a required id is missing.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let request = Request::parse(arguments)?;
    let trace = Trace::of_tree()?;
    if request.json {
        println!("{}", trace.json());
    } else {
        print!("{}", trace.text());
    }
    trace.require(&request)
}

#[derive(Debug, Default)]
struct Request {
    json: bool,
    groups: BTreeSet<char>,
    except: BTreeSet<Id>,
}

impl Request {
    fn parse(arguments: &[String]) -> Outcome<Request> {
        let mut request = Request::default();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            match argument.as_str() {
                "--json" => request.json = true,
                "--require" => request.groups.extend([group(rest.next())?]),
                "--except" => request.except.extend(ids(rest.next())?),
                other => {
                    return Err(format!("unknown argument {other:?}; see `cargo xtask help`"));
                }
            }
        }
        Ok(request)
    }
}

fn group(value: Option<&String>) -> Outcome<char> {
    let letter = value.filter(|value| value.len() == 1).and_then(|value| value.chars().next());
    letter
        .filter(|letter| GROUPS.contains(letter))
        .ok_or_else(|| "--require takes one group: A, B, C, D or X".to_owned())
}

fn ids(value: Option<&String>) -> Outcome<BTreeSet<Id>> {
    let ids = value.map(|value| requirement::named(value)).unwrap_or_default();
    if ids.is_empty() {
        return Err("--except takes ids, such as D-056 or D-056..D-060".into());
    }
    Ok(ids)
}

/// The ids of the catalog, and those of them that tests name.
struct Trace {
    declared: BTreeSet<Id>,
    covered: BTreeSet<Id>,
}

impl Trace {
    fn of_tree() -> Outcome<Trace> {
        Ok(Trace::new(&tree::read(CATALOG)?, &tree::sources()?))
    }

    fn new(catalog: &str, sources: &[Source]) -> Trace {
        let declared = requirement::declared(catalog);
        let named: BTreeSet<Id> = sources.iter().flat_map(named_by_tests).collect();
        let covered = named.intersection(&declared).copied().collect();
        Trace { declared, covered }
    }

    /// Covered and missing ids of one group, in order.
    fn group(&self, group: char) -> (Vec<Id>, Vec<Id>) {
        let of_group = self.declared.iter().copied().filter(|id| id.group == group);
        of_group.partition(|id| self.covered.contains(id))
    }

    fn json(&self) -> Value {
        let texts = |ids: Vec<Id>| ids.iter().map(Id::to_string).collect::<Vec<_>>();
        let mut groups = Map::new();
        for group in GROUPS {
            let (covered, missing) = self.group(group);
            let value = json!({ "covered": texts(covered), "missing": texts(missing) });
            groups.insert(group.to_string(), value);
        }
        Value::Object(groups)
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for group in GROUPS {
            let (covered, missing) = self.group(group);
            let all = covered.len() + missing.len();
            text += &format!("{group}: {} of {all} covered\n", covered.len());
            text += &format!("   covered: {}\n", ranges(&covered));
            text += &format!("   missing: {}\n", ranges(&missing));
        }
        let (covered, all) = (self.covered.len(), self.declared.len());
        text + &format!("trace: {covered} of {all} requirements are named by a test that runs\n")
    }

    fn require(&self, request: &Request) -> Outcome {
        let missing: Vec<Id> = self
            .declared
            .difference(&self.covered)
            .filter(|id| request.groups.contains(&id.group) && !request.except.contains(id))
            .copied()
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        Err(format!(
            "{} required ids are named by no test: {}; write the test and name the id above it",
            missing.len(),
            ranges(&missing)
        ))
    }
}

fn named_by_tests(source: &Source) -> BTreeSet<Id> {
    let all = functions(source);
    let tests = all.iter().filter(|function| function.is_test);
    tests.flat_map(|test| requirement::named(&test.comments(source))).collect()
}

/// Ids as people write them: `A-001..A-004, A-009`.
fn ranges(ids: &[Id]) -> String {
    let follows = |a: &Id, b: &Id| a.group == b.group && a.number + 1 == b.number;
    let runs = ids.chunk_by(follows).map(|run| match run {
        [one] => one.to_string(),
        [first, .., last] => format!("{first}..{last}"),
        [] => String::new(),
    });
    let text = runs.collect::<Vec<_>>().join(", ");
    if text.is_empty() { "none".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CATALOG_OF_FIVE: &str = "\
        - **A-001** One.\n- **D-001** Two.\n- **D-002** Three.\n- **D-003** Four.\n- **D-004** Five.\n";

    fn trace(text: &str) -> Trace {
        Trace::new(CATALOG_OF_FIVE, &[Source::new("a.rs", text)])
    }

    #[track_caller]
    fn check(text: &str, covered: &str) {
        assert_eq!(ranges(&trace(text).covered.into_iter().collect::<Vec<_>>()), covered);
    }

    #[test]
    fn an_id_above_a_test_or_inside_it_counts() {
        check("// D-001, D-003: why\n#[test]\nfn f() {\n    // A-001\n}\n", "A-001, D-001, D-003");
        check("#[tokio::test]\n// D-001..D-003\nasync fn f() {}\n", "D-001..D-003");
        check("proptest! {\n    // D-001\n    #[test]\n    fn f(a in 0..9) {}\n}\n", "D-001");
    }

    #[test]
    fn an_id_that_belongs_to_no_running_test_does_not_count() {
        check("//! D-001\n\n#[test]\nfn f() {}\n", "none");
        check("// D-001\nfn f() {}\n", "none");
        check("#[test]\nfn f() { g(\"D-001\") }\n", "none");
        check("// D-001\n#[test]\n#[ignore = \"slow\"]\nfn f() {}\n", "none");
        check("#[test]\nfn f() {}\n// D-001\nfn g() {}\n", "none");
    }

    #[test]
    fn the_json_has_every_group_with_covered_and_missing() {
        let value = trace("// D-001..D-003\n#[test]\nfn f() {}\n").json();
        let none = json!({ "covered": [], "missing": [] });
        let expected = json!({
            "A": { "covered": [], "missing": ["A-001"] },
            "B": none.clone(),
            "C": none.clone(),
            "D": { "covered": ["D-001", "D-002", "D-003"], "missing": ["D-004"] },
            "X": none,
        });
        assert_eq!(value, expected);
    }

    #[test]
    fn a_required_group_fails_while_an_id_is_missing_and_not_excepted() {
        let trace = trace("// D-001..D-003\n#[test]\nfn f() {}\n");
        let required = |arguments: &[&str]| {
            let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
            trace.require(&Request::parse(&arguments)?)
        };
        assert_eq!(required(&[]), Ok(()));
        assert!(required(&["--require", "D"]).is_err_and(|message| message.contains("D-004")));
        assert_eq!(required(&["--require", "D", "--except", "D-004"]), Ok(()));
        assert!(required(&["--require", "Q"]).is_err());
        assert!(required(&["--except", "nothing"]).is_err());
    }

    #[test]
    fn the_catalog_of_this_tree_declares_every_group_without_a_hole() {
        let catalog = tree::read(CATALOG).expect("the catalog is there");
        let declared = requirement::declared(&catalog);
        let text = ranges(&declared.into_iter().collect::<Vec<_>>());
        assert_eq!(text, "A-001..A-249, B-001..B-074, C-001..C-042, D-001..D-065, X-001..X-164");
    }
}
