//! A real PostgreSQL for tests.
//!
//! [`server`] is the one to use: all tests of a run share it, each in a database of its own. It is the
//! one that `STEPWELL_TEST_POSTGRES` names, which `cargo xtask test` starts for the whole run, else one
//! that this process starts from the installed binaries. A test that stops or restarts PostgreSQL needs
//! its own [`cluster`].
//!
//! A machine without PostgreSQL can still run all other tests: those that need it say why they were
//! skipped.
//!
//! ```no_run
//! # fn open(url: &str) {}
//! let Ok(server) = stepwell_testing::postgres::server() else { return };
//! open(&server.database("claims"));
//! ```

mod account;
mod binaries;
mod cluster;
mod server;

use std::fmt;
use std::io::Write;
use std::sync::OnceLock;

pub use cluster::{Cluster, Stop};
pub use server::Server;

/// The variable that names a PostgreSQL to use, as `postgres://user:password@host:port/database`. Its
/// user must be allowed to create databases.
pub const VARIABLE: &str = "STEPWELL_TEST_POSTGRES";

/// Why there is no PostgreSQL here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped(String);

impl Skipped {
    fn because(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Skipped {}

/// The PostgreSQL that all tests of this run share; where there is none, says on standard error which
/// test is skipped and why.
pub fn server() -> Result<&'static Server, Skipped> {
    static SHARED: OnceLock<Result<Server, Skipped>> = OnceLock::new();
    SHARED.get_or_init(shared).as_ref().map_err(|skipped| said(skipped.clone()))
}

/// A PostgreSQL for one test alone, which may stop and restart it; where there is none, says on
/// standard error which test is skipped and why.
pub fn cluster() -> Result<Cluster, Skipped> {
    Cluster::start().map_err(said)
}

/// Whether PostgreSQL is installed here.
pub fn is_installed() -> bool {
    binaries::find().is_ok()
}

fn shared() -> Result<Server, Skipped> {
    if let Ok(url) = std::env::var(VARIABLE) {
        return Server::at(&url);
    }
    // Never dropped: its guardian sees the end of this process, however it comes.
    static STARTED: OnceLock<Cluster> = OnceLock::new();
    let cluster = Cluster::start()?;
    Ok(STARTED.get_or_init(|| cluster).server().clone())
}

/// Tells whoever watches that a test is skipped. Written past the capture of the test harness, which
/// would show it only if the test failed.
fn said(skipped: Skipped) -> Skipped {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    let _ = writeln!(std::io::stderr(), "skipped: {test}: {skipped}");
    skipped
}
