//! What travels on a bus, and the order in which it wants to.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

/// The number of lanes of every pool.
pub const LANES: usize = 16;

/// Names one message for good: publishing the same attempt or poll again carries the same id.
///
/// To the bus it is opaque: something to compare and to hand back.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId {
    /// the run, as the 128 bits of its id
    pub run: u128,
    /// the step's place in the run
    pub step: u32,
    /// the attempt of the step
    pub attempt: u32,
    /// the poll of the attempt; 0 is the directive that starts it
    pub poll: u32,
}

impl MessageId {
    /// Sorts before every other id.
    pub const FIRST: Self = Self { run: 0, step: 0, attempt: 0, poll: 0 };
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}-{}-{}-{}", self.run, self.step, self.attempt, self.poll)
    }
}

impl fmt::Debug for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Which work goes first: the higher priority, then the smaller key (the older work).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Order {
    /// higher is more urgent
    pub priority: u8,
    /// smaller is older
    pub key: u128,
}

impl Order {
    /// Sorts before, or beside, every other order.
    pub const FIRST: Self = Self { priority: u8::MAX, key: 0 };
}

impl Ord for Order {
    fn cmp(&self, other: &Self) -> Ordering {
        other.priority.cmp(&self.priority).then(self.key.cmp(&other.key))
    }
}

impl PartialOrd for Order {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A message's place in its pool. No two messages share one: the id breaks ties.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// what the publisher asked for
    pub order: Order,
    /// breaks ties
    pub id: MessageId,
}

impl Position {
    /// Before everything.
    pub const FIRST: Self = Self { order: Order::FIRST, id: MessageId::FIRST };

    /// Before every message of the same order.
    pub(crate) fn floor(self) -> Self {
        Self { order: self.order, id: MessageId::FIRST }
    }
}

/// One of the 16 roads of a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lane(u8);

impl Lane {
    /// The lane with this number, if there is one.
    pub fn new(number: u8) -> Option<Self> {
        (usize::from(number) < LANES).then_some(Self(number))
    }

    /// Its number, 0 to 15.
    pub fn number(self) -> u8 {
        self.0
    }
}

/// The lanes a receiver serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaneSet(u16);

impl LaneSet {
    /// Every lane.
    pub const ALL: Self = Self(u16::MAX);

    /// The lanes whose bit is set; bit 0 is lane 0.
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    /// One bit a lane; bit 0 is lane 0.
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// Whether `lane` is one of them.
    pub fn contains(self, lane: Lane) -> bool {
        self.0 & (1 << lane.0) != 0
    }
}

impl FromIterator<Lane> for LaneSet {
    fn from_iter<I: IntoIterator<Item = Lane>>(lanes: I) -> Self {
        Self(lanes.into_iter().fold(0, |bits, lane| bits | 1 << lane.0))
    }
}

/// Where a message waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// the platform service or worker id
    pub pool: Arc<str>,
    /// the road within the pool
    pub lane: Lane,
}

/// Bytes for a worker.
#[derive(Debug, Clone)]
pub struct Message {
    /// the same for every copy of the message
    pub id: MessageId,
    /// where it waits
    pub address: Address,
    /// when its turn is; a broker that keeps no order ignores it
    pub order: Order,
    /// what the worker reads
    pub body: Bytes,
    /// from this moment on it is a dead letter unless a worker holds it
    pub expires_at_ms: Option<i64>,
}

impl Message {
    /// Its place among the messages of its pool.
    pub fn position(&self) -> Position {
        Position { order: self.order, id: self.id }
    }
}
