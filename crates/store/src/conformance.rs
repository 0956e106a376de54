//! What every store must do, as cases that panic when it does not.
//!
//! Each case takes a fresh, empty store. The runs in them are made by the real decisions of `core`,
//! so that what is stored is what an engine would store. A new store is done when it passes all.

mod batch_oracle;
pub mod batch_world;
mod batches;
mod commit;
mod creation;
mod credits;
mod documents;
mod events;
mod inputs;
mod items;
mod ledger;
mod letters;
mod life;
mod lists;
mod members;
mod oracle;
mod ownership;
mod queue;
mod retention;
mod runbooks;
mod submissions;
mod tally;
mod told;
mod triggers;
mod waits;
pub mod world;

use std::sync::Arc;

use crate::{Answer, Store};

pub use batch_oracle::*;
pub use batches::*;
pub use commit::*;
pub use creation::*;
pub use credits::*;
pub use documents::*;
pub use events::*;
pub use inputs::*;
pub use items::*;
pub use ledger::*;
pub use letters::*;
pub use life::*;
pub use lists::*;
pub use members::*;
pub use oracle::*;
pub use ownership::*;
pub use queue::*;
pub use retention::*;
pub use runbooks::*;
pub use submissions::*;
pub use tally::*;
pub use told::*;
pub use triggers::*;
pub use waits::*;

/// Opens the same place again, after the store was closed.
pub type Reopen = Box<dyn Fn() -> Answer<'static, Arc<dyn Store>> + Send + Sync>;

/// A store under test.
pub struct Subject {
    /// fresh and empty
    pub store: Arc<dyn Store>,
    /// for a store that outlives its process
    pub reopen: Option<Reopen>,
}
