//! What first went wrong with a run that is given up.
//!
//! A run remembers its newest error only. Whoever looks at a dead letter wants the first one too, which
//! stands in the history; it is looked up when the letter is written, which is rare.

use stepwell_core::entry::{Entry, Record};
use stepwell_core::run::Run;
use stepwell_core::step::StepError;
use stepwell_store::{Advance, Group, Item, Store};

/// Records of a run looked at: the first error stands near the beginning.
const RECORDS_MAX: usize = 256;

/// Runs whose histories are held at once.
const RUNS_MAX: usize = 64;

/// Adds the first error to each dead letter of a group, where there was one before the last.
pub(crate) async fn add_first_errors(store: &dyn Store, group: &mut Group) {
    let mut given_up: Vec<&mut Advance> = group.items.iter_mut().filter_map(given_up).collect();
    for page in given_up.chunks_mut(RUNS_MAX) {
        let runs = page.iter().map(|advance| advance.run.id()).collect();
        match store.beginnings(runs, RECORDS_MAX).await {
            Ok(beginnings) => {
                for (advance, beginning) in page.iter_mut().zip(beginnings) {
                    add_first_error(advance, &beginning);
                }
            }
            // The letters say why the runs failed all the same.
            Err(error) => tracing::debug!(%error, runs = page.len(), "histories_not_read"),
        }
    }
}

/// A run that is given up and may have an error before its last.
fn given_up(item: &mut Item) -> Option<&mut Advance> {
    let Item::Advance(advance) = item else { return None };
    (advance.dead_letter.is_some() && was_tried_again(&advance.run)).then_some(&mut **advance)
}

fn add_first_error(advance: &mut Advance, beginning: &[Record]) {
    let first = first_error(beginning).or_else(|| first_error(&advance.records));
    if let Some(given_up) = &mut advance.dead_letter {
        let letter = &mut given_up.letter;
        letter.first_error = first.filter(|first| **first != letter.error).cloned();
    }
}

fn was_tried_again(run: &Run) -> bool {
    run.attempt > 1 || run.steps.iter().any(|step| step.attempt > 1)
}

fn first_error(records: &[Record]) -> Option<&StepError> {
    let mut entries = records.iter().flat_map(|record| &record.entries);
    entries.find_map(|entry| match entry {
        Entry::AttemptFailed { error, .. }
        | Entry::StepHeld { error, .. }
        | Entry::StepFailed { error, .. }
        | Entry::StepTimedOut { error, .. } => Some(error),
        _ => None,
    })
}
