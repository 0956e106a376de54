//! The shared store: PostgreSQL, and any number of instances on it.
//!
//! A run belongs to one instance at a time, which alone decides it. Two connections commit groups, a few
//! more answer questions, two give signs of life, one listens for other instances. The statements stand in
//! `sql/postgres`, beside their twins for SQLite, the schema in `migrations/postgres`. Connections are
//! sessions with settings of their own, so a pooler between must lend whole sessions.

mod batch;
mod batch_moves;
mod batch_write;
mod ceiling;
mod columns;
mod commit;
mod connection;
mod credit;
mod dead_letter;
mod direct;
mod document;
mod error;
mod event;
mod judge;
mod lease;
mod ledger;
mod list;
mod listen;
mod load;
mod member;
mod migrate;
mod outbox;
mod ownership;
mod pipeline;
mod place;
mod pool;
mod query;
mod retention;
mod run_write;
mod runbook;
mod scratch;
mod send;
mod sorted;
mod store;
mod submission;
mod subscription;
mod tenant_policy;
mod tls;
mod token;
mod transfer;
mod trigger;
mod verdict;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use stepwell_core::id::RunId;
use stepwell_core::time::Timestamp;
use tokio::sync::watch;

use crate::error::StoreError;
use crate::model::{Epoch, Group, Verdict};
use crate::rows::ItemRows;
use commit::{Committed, Setback};
use connection::{Opener, Purpose};
use listen::{Teller, Word};
use pool::{Loan, Pool};
use sorted::Named;

pub use ceiling::ceiling;
pub use scratch::Scratch;
pub(crate) use transfer::Target;

/// How often a group is tried again that met another transaction.
const MET_MAX: usize = 3;

/// Connections for signs of life and words.
const SIGNS: u32 = 2;

/// Each counts in rows of its own, of which an instance has so many.
const COMMITTERS_MAX: u32 = 15;

/// How the server is used. The defaults are right; tests make the waits shorter.
#[derive(Clone, Debug)]
pub struct Options {
    /// bring the schema to this release's when the store is opened; without it an old one is refused
    pub migrate: bool,
    /// how many groups are committed at once
    pub committers: u32,
    /// how many questions are answered at once
    pub readers: u32,
    /// how long one statement may take
    pub statement_timeout: Duration,
    /// how long one statement may wait for a lock
    pub lock_timeout: Duration,
    /// how long a transaction may wait for its client: from then on nobody waits for a process that
    /// was stopped in the middle of one
    pub idle_timeout: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            migrate: true,
            committers: 2,
            readers: 4,
            statement_timeout: Duration::from_secs(10),
            lock_timeout: Duration::from_secs(5),
            idle_timeout: Duration::from_secs(2),
        }
    }
}

/// The shared store.
pub struct PostgresStore {
    opener: Arc<Opener>,
    committers: Pool,
    readers: Pool,
    /// for signs of life and words alone: a question that takes long must not make us look dead
    signs: Arc<Pool>,
    teller: Teller,
    /// whoever listens stops
    closed: watch::Sender<bool>,
    /// names of the migrations that were run when it was opened
    migrated: Vec<String>,
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStore").field("place", &self.opener.place).finish_non_exhaustive()
    }
}

impl PostgresStore {
    /// Connects to the server of a URL such as
    /// `postgres://user:password@host:5432/database?schema=stepwell&sslmode=verify-full`, and brings the
    /// schema up to date.
    ///
    /// # Errors
    /// `Refused` if the URL cannot be used, the server lets us not in or is too old, or the schema was
    /// made by a newer release or another program; `Unavailable` if the server cannot be reached.
    pub async fn open(url: &str, options: Options) -> Result<Self, StoreError> {
        let (committers, readers) = (options.committers.min(COMMITTERS_MAX), options.readers);
        let opener = Arc::new(Opener::new(url, options)?);
        let readers = Pool::new(Arc::clone(&opener), Purpose::Query, readers);
        let signs = Arc::new(Pool::new(Arc::clone(&opener), Purpose::Query, SIGNS));
        let mut first = readers.lend().await?;
        let migrated = migrate::migrate(&mut first, &opener.place, opener.options.migrate).await?;
        drop(first);
        Ok(Self {
            committers: Pool::new(Arc::clone(&opener), Purpose::Commit, committers),
            teller: Teller::start(Arc::clone(&signs), opener.place.schema.clone()),
            readers,
            signs,
            opener,
            closed: watch::Sender::new(false),
            migrated,
        })
    }

    /// The schema that the tables stand in.
    #[must_use]
    pub fn schema(&self) -> &str {
        &self.opener.place.schema
    }

    /// Names of the migrations that were run when the store was opened.
    #[must_use]
    pub fn migrated(&self) -> &[String] {
        &self.migrated
    }

    /// The latest moment at which a run changed that is still open; `None` if none is.
    ///
    /// A clock that starts behind it would keep every timer of such a run waiting for the difference.
    ///
    /// # Errors
    /// If the server does not answer.
    pub async fn latest_change(&self) -> Result<Option<Timestamp>, StoreError> {
        let mut db = self.readers.lend().await?;
        // It looks at every open run, once at the start.
        db.at_leisure().await?;
        load::latest_change(&mut db).await
    }

    async fn commit_group(&self, group: Group) -> Result<Vec<Verdict>, StoreError> {
        let group = Named::encode(group);
        let mut verdicts = self.commit_once(&group, None).await?;
        // Whoever writes a run that belongs to nobody owns it. That is rare, so it is tried only for
        // what turned out not to be ours.
        let stale = stale(&group, &verdicts);
        if !stale.is_empty() {
            let adopted = self.adopt(group.rows.epoch, &stale).await?;
            if !adopted.is_empty() {
                let again = self.commit_once(&group, Some(&adopted)).await?;
                for ((verdict, again), item) in
                    verdicts.iter_mut().zip(again).zip(&group.rows.items)
                {
                    if written(item).is_some_and(|run| adopted.contains(&run)) {
                        *verdict = again;
                    }
                }
            }
        }
        Ok(verdicts)
    }

    async fn commit_once(
        &self,
        group: &Named,
        only: Option<&[RunId]>,
    ) -> Result<Vec<Verdict>, StoreError> {
        let mut tries = 1;
        loop {
            let mut db = self.committers.lend().await?;
            let slot = db.slot();
            match commit::write(&mut db, slot, group, only).await {
                Ok(Committed { verdicts, words }) => {
                    self.teller.tell(words);
                    return Ok(db.done(verdicts));
                }
                Err(Setback::Final(error)) => return Err(error),
                Err(Setback::Met(error)) if tries == MET_MAX => return Err(error),
                Err(Setback::Met(error)) => tracing::debug!(%error, tries, "commit_met_another"),
            }
            tries += 1;
        }
    }

    async fn adopt(&self, me: Epoch, runs: &[RunId]) -> Result<Vec<RunId>, StoreError> {
        let mut db = self.readers.lend().await?;
        let adopted = ownership::adopt(&mut db, me, runs).await?;
        Ok(db.done(adopted))
    }

    async fn lend(&self) -> Result<Loan<'_>, StoreError> {
        self.readers.lend().await
    }

    fn tell(&self, word: Word) {
        self.teller.tell([word]);
    }
}

/// The run that an item writes, if it is one that exists already.
fn written(item: &ItemRows) -> Option<RunId> {
    match item {
        ItemRows::Advance(advance) => Some(advance.run),
        ItemRows::Reschedule { run, .. } => Some(*run),
        ItemRows::Create(_) | ItemRows::Audit(_) | ItemRows::Forward(_) | ItemRows::Batch(_) => {
            None
        }
    }
}

/// Runs that were to be written and were not.
fn stale(group: &Named, verdicts: &[Verdict]) -> Vec<RunId> {
    let items = group.rows.items.iter().zip(verdicts);
    let stale = items.filter(|(_, verdict)| **verdict == Verdict::Stale);
    stale.filter_map(|(item, _)| written(item)).collect()
}
