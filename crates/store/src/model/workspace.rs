//! What is agreed for one tenant, in place of the settings of the installation.

use serde::{Deserialize, Serialize};
use stepwell_core::credit::Restore;
use stepwell_core::duration::Interval;

/// What is agreed for one tenant. Empty fields follow the settings of the installation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TenantPolicy {
    /// how long runs that ended well or were cancelled are kept
    pub keep: Option<Interval>,
    /// how long runs that failed for good are kept
    pub keep_failed: Option<Interval>,
    /// when spent credits come back
    pub restore: Option<Restore>,
    /// open runs at a time
    pub runs_open_max: Option<u32>,
}
