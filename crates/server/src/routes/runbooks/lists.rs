//! Pages by place: so many passed over, so many shown.

use serde::Serialize;
use stepwell_core::batch::{Batch, BatchMode};
use stepwell_store::{BatchFilter, Listed, Slice};

use crate::error::ApiError;
use crate::extract::Parameters;
use crate::state::Api;

const LIMIT_DEFAULT: usize = 50;
const LIMIT_MAX: usize = 200;

/// Further down a list nobody looks by place.
const OFFSET_MAX: usize = 10_000_000;

/// A page of a list, and where in the list it is.
#[derive(Serialize)]
pub(super) struct PageView<T> {
    pub(super) items: Vec<T>,
    pub(super) total: u64,
    pub(super) limit: usize,
    pub(super) offset: usize,
}

impl<T> PageView<T> {
    /// The page that a slice of a list is.
    pub(super) fn of(items: Vec<T>, total: u64, Slice { offset, limit }: Slice) -> Self {
        Self { items, total, limit, offset }
    }
}

/// Which part of a list is asked for.
pub(super) fn slice(parameters: &Parameters) -> Result<Slice, ApiError> {
    let read = |text: &str| text.parse().ok().filter(|offset| *offset <= OFFSET_MAX);
    let offset = parameters.read("offset", &format!("0 to {OFFSET_MAX}"), read)?.unwrap_or(0);
    Ok(Slice { offset, limit: parameters.limit(LIMIT_DEFAULT, LIMIT_MAX)? })
}

/// Batches that were made in one of these ways, newest first; in any way if none is named.
pub(super) async fn batches(
    api: &Api,
    filter: BatchFilter,
    modes: &[BatchMode],
    slice: Slice,
) -> Result<Listed<Batch>, ApiError> {
    let store = api.engine().store();
    if modes.len() < 2 {
        let filter = BatchFilter { mode: modes.first().copied(), ..filter };
        return Ok(store.batches(filter, slice).await?);
    }
    // The store knows one way at a time. Each list has all that may come before the page.
    let (mut items, mut total) = (Vec::new(), 0);
    for mode in modes {
        let filter = BatchFilter { mode: Some(*mode), ..filter.clone() };
        let upto = Slice { offset: 0, limit: slice.offset + slice.limit };
        let listed = store.batches(filter, upto).await?;
        items.extend(listed.items);
        total += listed.total;
    }
    items.sort_unstable_by_key(|batch| std::cmp::Reverse(batch.id()));
    let items = items.into_iter().skip(slice.offset).take(slice.limit).collect();
    Ok(Listed { items, total })
}
