//! From names in `after` to the edges of a graph without cycles.

use std::collections::{BTreeMap, BTreeSet};

use stepwell_core::id::StepIndex;
use stepwell_core::template::near;

use super::step::Draft;
use crate::fields::{Field, Tree as _};
use crate::problem::{Position, quoted};
use crate::yaml::Node;

/// Fills in what each step comes after, and reports names that lead nowhere and ways that lead back.
pub(super) fn connect(drafts: &mut [Draft<'_>]) {
    let places = places(drafts);
    if drafts.iter().all(|draft| draft.after.is_none()) {
        chain(drafts);
        return;
    }
    for (index, draft) in drafts.iter_mut().enumerate() {
        draft.spec.after = edges(draft, index, &places);
    }
    report_cycles(drafts);
}

/// The steps of a sequence, each after the one above it.
pub(super) fn follow_one_another(drafts: &mut [Draft<'_>]) {
    places(drafts);
    chain(drafts);
}

fn chain(drafts: &mut [Draft<'_>]) {
    for (index, draft) in drafts.iter_mut().enumerate().skip(1) {
        draft.spec.after = vec![StepIndex::at(index - 1)];
    }
}

/// Every step that has ended before the one at `index` can start.
pub(super) fn before(drafts: &[Draft<'_>], index: usize) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let mut open = vec![index];
    while let Some(index) = open.pop() {
        let after = &drafts[index].spec.after;
        open.extend(
            after.iter().map(|before| before.position()).filter(|&step| found.insert(step)),
        );
    }
    found
}

/// Where each id is; a second step with the same id is reported.
fn places(drafts: &[Draft<'_>]) -> BTreeMap<String, usize> {
    let mut places = BTreeMap::new();
    for (index, draft) in drafts.iter().enumerate() {
        let Some(field) = draft.id.as_ref().filter(|_| !draft.spec.id.is_empty()) else { continue };
        let Some(first) = places.get(&draft.spec.id) else {
            places.insert(draft.spec.id.clone(), index);
            continue;
        };
        let message = format!("two steps have the id {}", quoted(&draft.spec.id));
        let first: &Draft<'_> = &drafts[*first];
        let problem = field.problem("duplicate_id", message);
        field.report(match first.id.as_ref().and_then(Field::position) {
            Some(Position { line, column }) => {
                problem.help(format!("the first one is at {line}:{column}"))
            }
            None => problem,
        });
    }
    places
}

fn edges(draft: &Draft<'_>, index: usize, places: &BTreeMap<String, usize>) -> Vec<StepIndex> {
    let mut edges = Vec::new();
    for field in draft.after.iter().flatten() {
        let Some(name) = field.text() else { continue };
        let edge = match places.get(name) {
            None => Err(unknown(field, name, places)),
            Some(&place) if place == index => {
                Err(field.problem("cycle", "a step cannot come after itself").help("remove it"))
            }
            Some(&place) if edges.contains(&StepIndex::at(place)) => {
                let message = format!("{} is named twice", quoted(name));
                Err(field.problem("duplicate_item", message).help("name it once"))
            }
            Some(&place) => Ok(StepIndex::at(place)),
        };
        match edge {
            Ok(edge) => edges.push(edge),
            Err(problem) => field.report(problem),
        }
    }
    edges
}

fn unknown(
    field: &Field<'_, Node>,
    name: &str,
    places: &BTreeMap<String, usize>,
) -> crate::problem::Problem {
    let near = near(name, places.keys().map(String::as_str));
    field.problem("unknown_step", format!("there is no step {}", quoted(name))).did_you_mean(near)
}

/// How far the search for cycles has come with a step.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Unseen,
    OnTheWay,
    Done,
}

fn report_cycles(drafts: &[Draft<'_>]) {
    let mut marks = vec![Mark::Unseen; drafts.len()];
    for index in 0..drafts.len() {
        walk(drafts, index, &mut marks);
    }
}

/// Walks all ways back from a step, with a stack of ours: a long chain must not exhaust the program's.
fn walk(drafts: &[Draft<'_>], start: usize, marks: &mut [Mark]) {
    let mut way = Vec::new();
    if marks[start] == Mark::Unseen {
        marks[start] = Mark::OnTheWay;
        way.push((start, 0));
    }
    while let Some((index, edge)) = way.last_mut() {
        let Some(next) = drafts[*index].spec.after.get(*edge) else {
            marks[*index] = Mark::Done;
            way.pop();
            continue;
        };
        *edge += 1;
        let next = next.position();
        match marks[next] {
            Mark::Done => {}
            Mark::OnTheWay => report_cycle(drafts, &way, next),
            Mark::Unseen => {
                marks[next] = Mark::OnTheWay;
                way.push((next, 0));
            }
        }
    }
}

/// The way leads from a step to what is before it; it is told in the order of work.
fn report_cycle(drafts: &[Draft<'_>], way: &[(usize, usize)], again: usize) {
    const SHOWN_MAX: usize = 10;
    let id = |index: usize| drafts[index].spec.id.as_str();
    let start = way.iter().position(|(index, _)| *index == again).unwrap_or(0);
    let mut names: Vec<&str> = way[start..].iter().rev().map(|(index, _)| id(*index)).collect();
    names.insert(0, id(again));
    if names.len() > SHOWN_MAX {
        names.splice(SHOWN_MAX / 2..names.len() - SHOWN_MAX / 2, ["…"]);
    }
    let step = &drafts[again].field;
    let key = if step.node().get("after").is_some() { "/after" } else { "/depends_on" };
    let field = step.nearest(key);
    let problem = field
        .problem("cycle", format!("these steps wait for one another: {}", names.join(" → ")))
        .help("remove one of the edges");
    field.report(problem);
}
