//! What a run was given has changed at its source.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::draft::Draft;
use crate::entry::Entry;
use crate::refusal::Refusal;

/// Nothing is dispatched again: what a step was sent with was frozen at its first dispatch.
/// A source is asked every few minutes and mostly says what it said before, so only what really
/// differs is written.
pub(super) fn refresh(
    draft: &mut Draft<'_, '_>,
    input: Option<&Map<String, Value>>,
    special: Option<&Map<String, Value>>,
) -> Result<(), Refusal> {
    draft.must_be_open()?;
    let header = &draft.run.header;
    let input = input.filter(|fresh| **fresh != header.input);
    let special = special.filter(|fresh| **fresh != header.special);
    if input.is_some() || special.is_some() {
        let [input, special] = [input, special].map(|fresh| fresh.cloned().map(Arc::new));
        draft.push(Entry::InputRefreshed { input, special });
    }
    Ok(())
}
