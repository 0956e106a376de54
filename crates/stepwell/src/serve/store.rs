//! Opens the store that the settings name.

use std::path::Path;
use std::sync::Arc;

use stepwell_core::time::Timestamp;
use stepwell_store::sqlite::{Options, SqliteStore};
use stepwell_store::{Store, StoreError};

use crate::config::StorePlace;
use crate::exit::Exit;
use crate::failure::Failure;

/// A store that was opened.
pub(crate) struct Opened {
    /// the store
    pub(crate) store: Arc<dyn Store>,
    /// the latest moment that an open job has seen
    pub(crate) latest: Option<Timestamp>,
}

/// Opens a store, and creates what it needs if there is nothing yet.
pub(crate) async fn open(place: &StorePlace) -> Result<Opened, Failure> {
    match place {
        StorePlace::Sqlite(path) => sqlite(path).await,
        StorePlace::Postgres(url) => postgres(url).await,
    }
    .map_err(|error| store_failure(&error))
}

async fn sqlite(path: &Path) -> Result<Opened, StoreError> {
    let path = path.to_owned();
    // Opening reads and may migrate; the other threads of the runtime need not wait for the disk.
    let opened = tokio::task::spawn_blocking(move || SqliteStore::open(path, Options::default()));
    let store = opened.await.expect("opening the store does not panic")?;
    let latest = store.latest_change().await?;
    Ok(Opened { store: Arc::new(store), latest })
}

#[cfg(feature = "postgres")]
async fn postgres(url: &str) -> Result<Opened, StoreError> {
    use stepwell_store::postgres::{Options, PostgresStore};

    let store = PostgresStore::open(url, Options::default()).await?;
    let latest = store.latest_change().await?;
    Ok(Opened { store: Arc::new(store), latest })
}

#[cfg(not(feature = "postgres"))]
async fn postgres(_url: &str) -> Result<Opened, StoreError> {
    Err(StoreError::Refused { reason: "this program was built without PostgreSQL".to_owned() })
}

/// What a person is told when the store does not do what is asked.
pub(crate) fn store_failure(error: &StoreError) -> Failure {
    match error {
        StoreError::Refused { reason } => Failure::new(Exit::Refused, "store_refused", reason),
        StoreError::Fenced { .. } => Failure::new(Exit::Refused, "fenced", error.to_string())
            .next("another process uses the same store; stop one of the two"),
        StoreError::Unavailable { .. } => {
            Failure::new(Exit::Unavailable, "store_unavailable", error.to_string())
                .next("see that the database can be reached and its disk has room, and start again")
        }
        StoreError::Broken { .. } => Failure::new(Exit::Failure, "store_broken", error.to_string())
            .next("restore the data directory from a backup; see docs/operations.md"),
    }
}
