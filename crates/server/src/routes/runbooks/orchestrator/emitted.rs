//! What our own scheduler has told, in the words of its events.
//!
//! The histories of all batches are the source: an event is a line of them in other words, so none is
//! lost and none is made twice. A place in this list is a record and an index into what it tells.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use stepwell_core::batch::{Batch, BatchEntry};
use stepwell_core::id::{BatchId, PhaseId};
use stepwell_dialects::runbooks::event::{BatchInit, Event, MemberChange, PhaseDue};
use stepwell_store::{BatchEvent, Member, MemberFilter, MemberStatus, Slice};

use super::acts_here;
use crate::auth::Caller;
use crate::error::ApiError;
use crate::extract::Query;
use crate::schema;
use crate::state::Api;

const LIMIT_DEFAULT: usize = 100;
const LIMIT_MAX: usize = 1_000;

/// Records that are read at once.
const RECORDS_MAX: usize = 200;

#[derive(Serialize)]
struct Events {
    items: Vec<EventView>,
    /// the `after` of the next page; the same as before if nothing has happened since
    next: Option<String>,
}

#[derive(Serialize)]
struct EventView {
    id: String,
    properties: Properties,
    body: Event,
}

#[derive(Serialize)]
struct Properties {
    #[serde(rename = "MessageType")]
    message_type: &'static str,
}

/// Read the events of our own scheduler, oldest first
///
/// `batch-init`, `phase-due`, `member-added` and `member-removed`, with the schemas of the topic
/// `orchestrator-events`. Polls and retries have timers of their own here and are not told. Go on with
/// `next` as `after`, now or later.
#[utoipa::path(
    get, path = "/api/orchestrator-events", tag = "runbook workers", operation_id = "listEvents",
    params(schema::EmittedQuery),
    responses((status = 200, description = "A page of events", body = schema::EmittedPage)),
)]
pub(in crate::routes::runbooks) async fn emitted(
    State(api): State<Api>,
    caller: Caller,
    query: Query,
) -> Result<Response, ApiError> {
    let parameters = query.known(&["after", "limit"])?;
    let limit = parameters.limit(LIMIT_DEFAULT, LIMIT_MAX)?;
    let read = |text: &str| text.parse::<Place>().ok();
    let after = parameters.read("after", "the next of the page before", read)?;
    acts_here(&caller)?;
    let mut page = Page { api, after: after.unwrap_or_default(), limit, items: Vec::new() };
    page.fill().await?;
    let next = Some(page.after).filter(|place| *place != Place::default());
    let next = next.map(|place| place.to_string());
    Ok(Json(Events { items: page.items, next }).into_response())
}

/// A place in the list: a record, and how many of what it tells are behind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Place {
    record: i64,
    told: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.record, self.told)
    }
}

impl FromStr for Place {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (record, told) = text.split_once(':').ok_or(())?;
        Ok(Self { record: record.parse().map_err(drop)?, told: told.parse().map_err(drop)? })
    }
}

/// A page on its way.
struct Page {
    api: Api,
    /// everything up to here is on this page, or was on one before
    after: Place,
    limit: usize,
    items: Vec<EventView>,
}

impl Page {
    async fn fill(&mut self) -> Result<(), ApiError> {
        loop {
            // The record at which the page before ended may tell more.
            let from = self.after.record - 1;
            let store = self.api.engine().store();
            let records = store.batch_events(None, from.max(0), RECORDS_MAX).await?;
            let is_last = records.len() < RECORDS_MAX;
            for record in &records {
                let told = self.told(record).await?;
                let behind = if record.id == self.after.record { self.after.told } else { 0 };
                self.after = Place { record: record.id, told: behind };
                for event in told.into_iter().skip(behind) {
                    if self.items.len() == self.limit {
                        return Ok(());
                    }
                    let properties = Properties { message_type: event.message_type() };
                    let id = self.after.to_string();
                    self.items.push(EventView { id, properties, body: event });
                    self.after.told += 1;
                }
            }
            if is_last {
                return Ok(());
            }
        }
    }

    /// What a record tells.
    async fn told(&self, event: &BatchEvent) -> Result<Vec<Event>, ApiError> {
        let mut told = Vec::new();
        if !event.record.entries.iter().any(is_told) {
            return Ok(told);
        }
        let batch = self.api.engine().batch(event.batch).await?;
        for entry in &event.record.entries {
            match entry {
                BatchEntry::InitDispatched { version, .. } => {
                    told.push(Event::BatchInit(begun(&batch, *version)));
                }
                BatchEntry::PhaseDispatched { phase, .. } => {
                    told.extend(due(&batch, *phase).map(Event::PhaseDue));
                }
                BatchEntry::MembersJoined { members, .. } => {
                    let joined = self.joined(&batch, event.id, *members).await?;
                    told.extend(joined.into_iter().map(Event::MemberAdded));
                }
                BatchEntry::MembersRemoved { members, .. } => {
                    let removed = self.removed(&batch, event.id, *members).await?;
                    told.extend(removed.into_iter().map(Event::MemberRemoved));
                }
                _ => {}
            }
        }
        Ok(told)
    }

    /// Members are numbered as they join, so the n-th to join is the n-th of the list.
    async fn joined(
        &self,
        batch: &Batch,
        record: i64,
        count: u32,
    ) -> Result<Vec<MemberChange>, ApiError> {
        let sums = self.counted(batch.id(), record, |entry| match entry {
            BatchEntry::MembersJoined { members, .. } => Some(*members),
            _ => None,
        });
        let (before, all) = sums.await?;
        let from_the_start = usize::try_from(batch.joined).unwrap_or(0).saturating_sub(all);
        let limit = usize::try_from(count).unwrap_or(usize::MAX);
        let slice = Slice { offset: from_the_start + before, limit };
        let filter = MemberFilter::of(batch.id());
        let members = self.api.engine().store().members(filter, slice).await?.items;
        Ok(members.iter().map(change).collect())
    }

    /// Of those who left, the n-th to leave is the n-th by the moment of it.
    async fn removed(
        &self,
        batch: &Batch,
        record: i64,
        count: u32,
    ) -> Result<Vec<MemberChange>, ApiError> {
        let sums = self.counted(batch.id(), record, |entry| match entry {
            BatchEntry::MembersRemoved { members, .. } => Some(*members),
            _ => None,
        });
        let (before, _) = sums.await?;
        let statuses = vec![MemberStatus::Removed];
        let filter = MemberFilter { statuses, ..MemberFilter::of(batch.id()) };
        let slice = Slice { offset: 0, limit: usize::try_from(batch.removed).unwrap_or(0) };
        let mut members = self.api.engine().store().members(filter, slice).await?.items;
        members.sort_by_key(|member| (member.removed_at, member.id));
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        Ok(members.iter().skip(before).take(count).map(change).collect())
    }

    /// How many the history of a batch counts before a record, and in all.
    async fn counted(
        &self,
        batch: BatchId,
        before: i64,
        count: impl Fn(&BatchEntry) -> Option<u32>,
    ) -> Result<(usize, usize), ApiError> {
        let mut sums: BTreeMap<bool, usize> = BTreeMap::new();
        let mut after = 0;
        loop {
            let store = self.api.engine().store();
            let records = store.batch_events(Some(batch), after, RECORDS_MAX).await?;
            for record in &records {
                let counted = record.record.entries.iter().filter_map(&count);
                let sum: usize = counted.map(|it| usize::try_from(it).unwrap_or(0)).sum();
                *sums.entry(record.id < before).or_default() += sum;
            }
            let earlier = sums.get(&true).copied().unwrap_or(0);
            let all = earlier + sums.get(&false).copied().unwrap_or(0);
            match records.last() {
                Some(last) if records.len() == RECORDS_MAX => after = last.id,
                Some(_) | None => return Ok((earlier, all)),
            }
        }
    }
}

fn is_told(entry: &BatchEntry) -> bool {
    matches!(
        entry,
        BatchEntry::InitDispatched { .. }
            | BatchEntry::PhaseDispatched { .. }
            | BatchEntry::MembersJoined { .. }
            | BatchEntry::MembersRemoved { .. }
    )
}

fn begun(batch: &Batch, runbook_version: u32) -> BatchInit {
    let runbook_name = batch.header.runbook.clone();
    BatchInit { batch_id: batch.id(), runbook_name, runbook_version }
}

fn due(batch: &Batch, id: PhaseId) -> Option<PhaseDue> {
    let phase = batch.phases.iter().find(|phase| phase.id == id)?;
    Some(PhaseDue {
        batch_id: batch.id(),
        runbook_name: batch.header.runbook.clone(),
        runbook_version: phase.version,
        phase_name: phase.name.clone(),
        phase_execution_id: id,
    })
}

fn change(member: &Member) -> MemberChange {
    MemberChange {
        batch_id: member.batch,
        member_key: member.key.clone(),
        batch_member_id: member.id,
    }
}
