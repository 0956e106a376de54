//! A bus carries directives to workers: the trait, and the contract behind it.
//!
//! What a bus promises, and the conformance suite holds it to:
//!
//! - **At least once.** A message whose publish was accepted is delivered until a delivery of it is
//!   completed, it is withdrawn, or it is given up. A delivery is locked for its visibility
//!   timeout; while the lock holds nobody else receives the message.
//! - **A publish may be repeated.** A message whose id is still on the bus is not added twice.
//! - **Given up, not lost.** After the delivery limit, past its expiry, or when the receiver says
//!   so, a message becomes a dead letter that [`Bus::exhausted`] hands to the engine.
//!
//! What it does not promise: exactly once, an order across receivers, or that a settlement arrives.
//! The store decides what counts; attempt and lease fence whatever the bus delivers too often. So
//! completing a delivery is right as soon as the store knows that a worker took the work.
//!
//! Pausing, canceling and retrying are not the bus's business.

use std::borrow::Cow;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

#[cfg(feature = "conformance")]
pub mod conformance;
pub mod embedded;
mod message;

pub use message::{Address, LANES, Lane, LaneSet, Message, MessageId, Order, Position};

/// The future of an object-safe async method.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Carries messages from the engine to workers.
///
/// Batches answer entry by entry and in the order of the entries, so that one bad message never
/// costs its neighbors their place. Dropping an answer before it is ready loses nothing: messages
/// already taken for it return to the bus, at the latest when their visibility ends.
pub trait Bus: Send + Sync {
    /// Puts messages on the bus.
    fn publish(&self, messages: Vec<Message>) -> Answer<'_, Vec<Result<Published, PublishError>>>;

    /// Takes up to `max` messages of a pool, waiting up to `wait` for the first.
    ///
    /// Answers at once if anything is ready. Each delivery is locked for `visibility`.
    fn receive<'a>(&'a self, ask: Receive<'a>) -> Answer<'a, Result<Vec<Delivery>, Unavailable>>;

    /// Ends deliveries.
    fn settle(
        &self,
        settlements: Vec<(DeliveryTag, Settlement)>,
    ) -> Answer<'_, Vec<Result<Settled, Unavailable>>>;

    /// Locks a delivery for `visibility` from now on, because its receiver is still at work.
    fn extend(
        &self,
        tag: DeliveryTag,
        visibility: Duration,
    ) -> Answer<'_, Result<Settled, Unavailable>>;

    /// Forgets messages that no longer matter, because their attempts have ended.
    ///
    /// A saving, not a promise: a copy may already be on its way, and the lease fences it.
    fn withdraw(&self, ids: Vec<MessageId>) -> Answer<'_, Result<(), Unavailable>>;

    /// How much waits, pool by pool.
    fn depth(&self) -> Answer<'_, Result<Vec<Depth>, Unavailable>>;

    /// Takes up to `max` dead letters, waiting for the first without limit.
    fn exhausted(&self, max: usize) -> Answer<'_, Result<Vec<DeadLetter>, Unavailable>>;

    /// The window to refill from the store, on a bus that keeps only the head of each pool.
    fn window(&self) -> Option<&dyn Window> {
        None
    }
}

/// What a receiver asks for.
#[derive(Debug, Clone, Copy)]
pub struct Receive<'a> {
    /// the pool to take from
    pub pool: &'a str,
    /// only messages of these lanes
    pub lanes: LaneSet,
    /// at most so many
    pub max: usize,
    /// how long to wait for the first
    pub wait: Duration,
    /// how long each delivery stays locked
    pub visibility: Duration,
}

/// What became of a publish that is no error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Published {
    /// The message is on the bus, or was already.
    Accepted,
    /// The pool's window is full: the message stays in the store until a refill fetches it.
    Deferred,
}

/// Names one delivery; a redelivery of the same message has another tag.
///
/// A broker whose receipts are longer keeps them in a table by this number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeliveryTag(pub u64);

/// A message in the hands of a receiver.
#[derive(Debug, Clone)]
pub struct Delivery {
    /// settles this delivery
    pub tag: DeliveryTag,
    /// what was published
    pub message: Message,
    /// how often it was delivered, this time included
    pub deliveries: u32,
    /// from this moment on others may receive it
    pub locked_until_ms: i64,
}

/// How a receiver ends a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settlement {
    /// The work is taken: forget the message.
    Complete,
    /// Not now: deliver it again, no sooner than after `delay`.
    Abandon {
        /// zero makes it ready at once
        delay: Duration,
    },
    /// Never: no receiver can do anything with it.
    DeadLetter {
        /// a stable word, such as `unknown_message_type`
        reason: Cow<'static, str>,
        /// what a person should know
        description: String,
    },
}

/// Whether a settlement or extension met a delivery that was still current.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// It took effect.
    Done,
    /// The lock had ended, or the message was withdrawn: nothing changed.
    Stale,
}

/// The depth of one pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Depth {
    /// the pool
    pub pool: Arc<str>,
    /// waiting for a receiver
    pub ready: usize,
    /// abandoned with a delay that still runs
    pub delayed: usize,
    /// delivered and not settled
    pub in_flight: usize,
    /// more waits in the store, beyond the window
    pub overflowed: bool,
}

/// A message given up, with the reason.
#[derive(Debug, Clone)]
pub struct DeadLetter {
    /// what was published
    pub message: Message,
    /// how often it was delivered
    pub deliveries: u32,
    /// [`DELIVERY_LIMIT`], [`EXPIRED`], or the receiver's own word
    pub reason: Cow<'static, str>,
    /// what a person should know
    pub description: String,
}

/// The reason of a dead letter whose last allowed delivery came to nothing.
pub const DELIVERY_LIMIT: &str = "delivery_limit";

/// The reason of a dead letter that no receiver took in time.
pub const EXPIRED: &str = "expired";

/// The part of a bus that holds only the head of each pool in memory.
///
/// The store has every message anyway, so a pool needs no more than a window of its oldest ones.
/// The engine keeps the windows full:
///
/// ```text
/// loop { window.refill_needed().await;
///        for refill in window.wanted_refills() {
///            let page = /* the oldest `refill.limit` messages of the pool after `refill.after` */;
///            window.refill(&refill, page, complete) } }
/// ```
///
/// A message must be in the store before it is published, and out of it before it is completed or
/// withdrawn. Then nothing is lost, however publishes, settlements and the reading of a page
/// interleave.
pub trait Window: Send + Sync {
    /// Resolves when some pool runs low while more of it waits in the store.
    fn refill_needed(&self) -> Answer<'_, ()>;

    /// What to load. Asking again replaces earlier refills that were not delivered.
    fn wanted_refills(&self) -> Vec<Refill>;

    /// Delivers a page. `complete` says that nothing of the pool lies behind it in the store.
    ///
    /// Answers false, and takes nothing, if the refill was replaced by a later one.
    fn refill(&self, refill: &Refill, page: Vec<Message>, complete: bool) -> bool;

    /// Declares that the store may hold messages of this pool that were never published here.
    ///
    /// The engine says so for each pool it finds in the store after a start, and whenever it gets
    /// work that somebody else has published.
    fn refill_from_start(&self, pool: Arc<str>);

    /// Takes runs out of memory that have something ready in this pool: the oldest, at most `max`,
    /// and each with all its messages. None of which a receiver holds a message.
    ///
    /// They are not lost: the store has them, and `refill_from_start` brings them back.
    fn release_runs(&self, pool: &str, max: usize) -> Vec<u128>;

    /// Forgets every message of these runs, because they are somebody else's now.
    fn forget_runs(&self, runs: &[u128]);

    /// Forgets everything, because nothing of it is ours any more.
    fn forget_all(&self);
}

/// A page that a pool wants from the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refill {
    /// the pool
    pub pool: Arc<str>,
    /// load what lies behind this position
    pub after: Position,
    /// load no more than this
    pub limit: usize,
    /// tells a current refill from one that was replaced
    pub(crate) ticket: u64,
}

/// Why a message was not taken, sorted by what the publisher does next.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// No bus of this kind will ever carry it; give up.
    #[error(
        "message {id} has {size} bytes, the bus carries at most {size_max}; \
         send a reference instead of the data"
    )]
    TooLarge {
        /// the message
        id: MessageId,
        /// the size of its body
        size: usize,
        /// the largest body that is carried
        size_max: usize,
    },
    /// The bus has no room now; wait until receivers have caught up.
    #[error("the bus is full; publish again when receivers have caught up")]
    Full,
    /// The bus is away; publish the same message again.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// The bus could not be reached; the same call may be made again unchanged.
#[derive(Debug, thiserror::Error)]
#[error("the bus is unavailable; the call may be repeated")]
pub struct Unavailable(#[source] pub Box<dyn std::error::Error + Send + Sync>);
