//! What the tests need beside the toolchain: a browser and a PostgreSQL.
//!
//! What is missing is installed where that is possible: as root, on a machine with Debian's packages.
//! Without them the tests concerned say that they were skipped, and everything else runs.

use std::process::{Command, Stdio};

use stepwell_testing::postgres::{self, Cluster, Server};

use crate::Outcome;
use crate::test::{Done, succeeds};

/// What runs beside the tests, until this is dropped.
#[derive(Default)]
pub(crate) struct Services {
    postgres: Option<Cluster>,
}

impl Services {
    /// Starts one PostgreSQL for all tests, unless the environment names one.
    pub(crate) fn start_postgres(&mut self) -> Outcome<Done> {
        if let Ok(url) = std::env::var(postgres::VARIABLE) {
            return Server::at(&url).map(|_| Done::Passed).map_err(|why| why.to_string());
        }
        let started =
            find_postgres().and_then(|()| Cluster::start().map_err(|why| why.to_string()));
        match started {
            Ok(cluster) => {
                self.postgres = Some(cluster);
                Ok(Done::Passed)
            }
            Err(why) => Ok(Done::Skipped(format!("{why}; what needs PostgreSQL is not tried"))),
        }
    }

    /// What the tests must be told of it.
    pub(crate) fn environment(&self) -> Option<(&'static str, String)> {
        let cluster = self.postgres.as_ref()?;
        Some((postgres::VARIABLE, cluster.server().maintenance_url()))
    }
}

/// Sees that PostgreSQL is installed; Debian's package brings it.
pub(crate) fn find_postgres() -> Outcome {
    if postgres::is_installed() || (install(&["postgresql"]) && postgres::is_installed()) {
        return Ok(());
    }
    Err("PostgreSQL is absent and could not be installed".to_owned())
}

/// Sees that a browser is there for the test of the API page; Debian's packages bring one.
pub(crate) fn browser() -> Outcome<Done> {
    let present = || succeeds("chromedriver", &["--version"]);
    if present() || (install(&["chromium", "chromium-driver"]) && present()) {
        return Ok(Done::Passed);
    }
    Ok(Done::Skipped(
        "chromedriver is absent and could not be installed; the page is not tried in a browser"
            .to_owned(),
    ))
}

fn install(packages: &[&str]) -> bool {
    let apt = |arguments: &[&str]| {
        let mut command = Command::new("apt-get");
        command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    apt(&["update"]) && apt(&[&["install", "--yes"], packages].concat())
}
