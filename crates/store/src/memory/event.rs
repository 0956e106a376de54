//! The log of events for others, and the addresses that are told.

use std::collections::BTreeMap;

use stepwell_core::id::RunId;
use stepwell_core::time::Timestamp;

use crate::model::{EventFilter, EventPlace, Events, NewEvent, StoredEvent, Subscription};

/// The log of events.
#[derive(Debug, Default)]
pub(super) struct EventLog {
    events: BTreeMap<EventPlace, NewEvent>,
    ever: i64,
}

impl EventLog {
    pub(super) fn append(&mut self, events: Vec<NewEvent>) {
        for event in events {
            self.ever += 1;
            self.events.insert(EventPlace(self.ever), event);
        }
    }

    /// Events after a place, oldest first.
    pub(super) fn after(&self, filter: &EventFilter, after: EventPlace, limit: usize) -> Events {
        let later = self.events.iter().filter(|(place, _)| **place > after);
        let asked_for = later.filter(|(_, event)| filter.matches(event));
        let events: Vec<StoredEvent> = asked_for
            .take(limit)
            .map(|(place, event)| StoredEvent { place: *place, event: event.clone() })
            .collect();
        let newest = self.events.keys().next_back().copied();
        let upto = match events.last() {
            Some(last) if events.len() == limit => last.place,
            Some(_) | None => newest.unwrap_or_default().max(after),
        };
        Events { events, upto, oldest: self.events.keys().next().copied() }
    }

    /// Forgets what is told of a run that is deleted.
    pub(super) fn forget(&mut self, run: RunId) {
        self.events.retain(|_, event| event.run != Some(run));
    }

    /// Forgets old ones: of so many that were written first.
    pub(super) fn sweep(&mut self, before: Timestamp, limit: usize) -> usize {
        let first = self.events.iter().take(limit);
        let old = first.filter(|(_, event)| event.at < before).map(|(place, _)| *place);
        let old: Vec<EventPlace> = old.collect();
        for place in &old {
            self.events.remove(place);
        }
        old.len()
    }
}

/// All addresses that are told of events, oldest first.
pub(super) fn oldest_first(known: &BTreeMap<String, Subscription>) -> Vec<Subscription> {
    let mut all: Vec<Subscription> = known.values().cloned().collect();
    all.sort_by_key(|subscription| subscription.created_at);
    all
}
