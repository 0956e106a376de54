//! One pool in memory: its ready messages in order, its waiting receivers, and its window.

use std::array;
use std::collections::{BTreeSet, HashSet, VecDeque};

use tokio::sync::oneshot;

use crate::bus::{Delivery, LANES, Lane, LaneSet, MessageId, Position};

/// A receiver that found nothing ready; the first in the queue is served first.
#[derive(Debug)]
pub(super) struct Waiter {
    pub(super) number: u64,
    pub(super) lanes: LaneSet,
    pub(super) max: usize,
    pub(super) visibility_ms: i64,
    pub(super) sender: oneshot::Sender<Vec<Delivery>>,
}

/// What is in memory of one pool.
#[derive(Debug)]
pub(super) struct Pool {
    /// One ordered set a lane, so that a receiver of few lanes never scans the others.
    lanes: [BTreeSet<Position>; LANES],
    /// The lanes that are not empty, one bit each.
    occupied: u16,
    pub(super) ready: usize,
    pub(super) delayed: usize,
    pub(super) in_flight: usize,
    pub(super) waiters: VecDeque<Waiter>,
    pub(super) window: Window,
}

impl Pool {
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            lanes: array::from_fn(|_| BTreeSet::new()),
            occupied: 0,
            ready: 0,
            delayed: 0,
            in_flight: 0,
            waiters: VecDeque::new(),
            window: Window { capacity, horizon: None, loading: None },
        }
    }

    pub(super) fn insert(&mut self, lane: Lane, position: Position) {
        let lane = usize::from(lane.number());
        let is_new = self.lanes[lane].insert(position);
        assert!(is_new, "a message is ready once");
        self.occupied |= 1 << lane;
        self.ready += 1;
    }

    pub(super) fn remove(&mut self, lane: Lane, position: &Position) {
        let lane = usize::from(lane.number());
        let was_there = self.lanes[lane].remove(position);
        assert!(was_there, "a ready message stands in its lane");
        self.note_removed(lane);
    }

    /// Takes the oldest ready message of the lanes.
    pub(super) fn pop_first(&mut self, lanes: LaneSet) -> Option<Position> {
        let heads = each_lane(self.occupied & lanes.bits());
        let (_, lane) =
            heads.filter_map(|lane| self.lanes[lane].first().map(|head| (head, lane))).min()?;
        let position = self.lanes[lane].pop_first();
        self.note_removed(lane);
        position
    }

    /// Ready messages, lane by lane, the oldest of each lane first.
    pub(super) fn ready(&self) -> impl Iterator<Item = &Position> {
        self.lanes.iter().flatten()
    }

    /// The youngest ready message.
    pub(super) fn last(&self) -> Option<Position> {
        each_lane(self.occupied).filter_map(|lane| self.lanes[lane].last().copied()).max()
    }

    /// Takes the receiver that has waited longest among those a ready message would serve.
    pub(super) fn next_waiter(&mut self) -> Option<Waiter> {
        let occupied = self.occupied;
        if occupied == 0 {
            return None;
        }
        let first = self.waiters.iter().position(|waiter| waiter.lanes.bits() & occupied != 0)?;
        self.waiters.remove(first)
    }

    /// How many messages count against the window.
    ///
    /// Delayed ones do: a receiver that abandons everything it sees must not draw the whole backlog
    /// into memory. Those in flight do not: they are bounded by what receivers ask for.
    pub(super) fn held(&self) -> usize {
        self.ready + self.delayed
    }

    pub(super) fn is_over_capacity(&self) -> bool {
        self.held() > self.window.capacity
    }

    /// How many messages a refill should bring; none while there is enough, or nothing to fetch.
    pub(super) fn refill_limit(&self) -> Option<usize> {
        let low = (self.window.capacity / 4).max(1);
        let runs_low = self.window.horizon.is_some() && self.ready < low;
        (runs_low && self.held() < self.window.capacity).then(|| self.window.capacity - self.held())
    }

    /// Whether forgetting the pool would forget nothing.
    pub(super) fn is_idle(&self) -> bool {
        self.held() + self.in_flight == 0
            && self.waiters.is_empty()
            && self.window.horizon.is_none()
    }

    fn note_removed(&mut self, lane: usize) {
        self.ready -= 1;
        if self.lanes[lane].is_empty() {
            self.occupied &= !(1 << lane);
        }
    }
}

fn each_lane(mut bits: u16) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
        bits &= bits - 1;
        Some(lane)
    })
}

/// How far into the store's backlog the memory reaches.
///
/// The invariant: every live message that was published and does not lie beyond the horizon is in
/// memory. Some beyond it may be too (in flight when the horizon drew nearer); a refill that meets
/// them again adds nothing.
#[derive(Debug)]
pub(super) struct Window {
    capacity: usize,
    /// None: the memory holds everything.
    horizon: Option<Position>,
    loading: Option<Loading>,
}

/// A refill that the engine is reading from the store right now.
///
/// What happens between the reading and its delivery is kept here, because the page cannot show it.
#[derive(Debug)]
struct Loading {
    ticket: u64,
    /// The oldest message left to the store since: the page may lack it, so nothing from there on
    /// may be called complete.
    oldest_deferred: Option<Position>,
    /// Ended since: the page may still show them.
    ended: HashSet<MessageId>,
}

impl Window {
    pub(super) fn is_beyond(&self, position: Position) -> bool {
        self.horizon.is_some_and(|horizon| position > horizon)
    }

    pub(super) fn horizon(&self) -> Option<Position> {
        self.horizon
    }

    /// Leaves a message to the store.
    pub(super) fn defer(&mut self, position: Position) {
        self.horizon = Some(earliest(self.horizon, position.floor()));
        if let Some(loading) = &mut self.loading {
            loading.oldest_deferred = Some(earliest(loading.oldest_deferred, position));
        }
    }

    /// Remembers that a message has ended, in case a page still shows it.
    pub(super) fn note_ended(&mut self, id: MessageId) {
        if let Some(loading) = &mut self.loading {
            loading.ended.insert(id);
        }
    }

    /// Nothing in the store is known to be in memory any more.
    pub(super) fn forget_horizon(&mut self) {
        self.horizon = Some(Position::FIRST);
        self.loading = None;
    }

    pub(super) fn begin_loading(&mut self, ticket: u64) {
        self.loading = Some(Loading { ticket, oldest_deferred: None, ended: HashSet::new() });
    }

    /// Moves the horizon behind the page that ends at `page_last`.
    ///
    /// Answers which messages of the page to take, or nothing if the refill was replaced.
    pub(super) fn finish_loading(
        &mut self,
        ticket: u64,
        page_last: Option<Position>,
        complete: bool,
    ) -> Option<impl Fn(Position) -> bool + use<>> {
        let loading = self.loading.take_if(|loading| loading.ticket == ticket)?;
        // An empty page lies at the end of the backlog, whatever its reader says.
        let page_end = page_last.filter(|_| !complete);
        self.horizon = match loading.oldest_deferred {
            Some(deferred) => Some(earliest(page_end, deferred.floor())),
            None => page_end,
        };
        Some(move |position: Position| {
            loading.oldest_deferred.is_none_or(|deferred| position < deferred)
                && !loading.ended.contains(&position.id)
        })
    }
}

fn earliest(known: Option<Position>, other: Position) -> Position {
    known.map_or(other, |known| known.min(other))
}
