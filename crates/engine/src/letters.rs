//! What first went wrong with a run that is given up.
//!
//! A run remembers its newest error only. Whoever looks at a dead letter wants the first one too, which
//! stands in the history; it is looked up when the letter is written, which is rare.

use stepwell_core::entry::{Entry, Record};
use stepwell_core::run::Run;
use stepwell_core::step::StepError;
use stepwell_store::{Group, Item, Store};

/// Records looked at: the first error stands near the beginning.
const RECORDS_MAX: usize = 256;

/// Adds the first error to each dead letter of a group, where there was one before the last.
pub(crate) async fn add_first_errors(store: &dyn Store, group: &mut Group) {
    for item in &mut group.items {
        let Item::Advance(advance) = item else { continue };
        let Some(letter) = &mut advance.dead_letter else { continue };
        if !was_tried_again(&advance.run) {
            continue;
        }
        match store.history(advance.run.id(), 0, RECORDS_MAX).await {
            Ok(history) => {
                let first = first_error(&history).or_else(|| first_error(&advance.records));
                letter.first_error = first.filter(|first| **first != letter.error).cloned();
            }
            // The letter says why the run failed all the same.
            Err(error) => tracing::debug!(%error, run = %advance.run.id(), "history_not_read"),
        }
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
