//! A connection outside of every pool, for what is done once.

use super::Options;
use super::connection::{Connection, Opener, Purpose};
use super::error::no_connection;
use crate::error::StoreError;

/// Connects to the server of a URL. The schema need not exist.
pub(super) async fn connect(url: &str) -> Result<Connection, StoreError> {
    let opener = Opener::new(url, Options::default())?;
    let opened = opener.open(Purpose::Query).await;
    opened.map_err(|cause| no_connection(&opener.place.shown(), cause))
}
