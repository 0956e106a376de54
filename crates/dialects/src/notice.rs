//! What is sent to whoever asked to be told that a run has ended.

use serde_json::Value;
use stepwell_core::run::{Dialect, Run};

use crate::commands;

/// One message to one address.
#[derive(Clone, Debug, PartialEq)]
pub struct Notice {
    /// whom it goes to; not yet known to be an address that may be called
    pub url: String,
    /// a CloudEvent as JSON
    pub body: Value,
}

/// The messages that must follow the end of a run; none while it goes on.
#[must_use]
pub fn notices(run: &Run) -> Vec<Notice> {
    match run.header.dialect {
        Dialect::Commands => commands::notice::notices(run),
        // Nobody can ask to be told in these.
        Dialect::Runbooks | Dialect::Platform | Dialect::Workspaces => Vec::new(),
    }
}
