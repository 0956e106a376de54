//! A PostgreSQL that answers, wherever it is.

use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use super::Skipped;

/// A PostgreSQL in which a test may create databases.
#[derive(Clone, Debug)]
pub struct Server {
    /// `postgres://user:password@host:port`
    authority: String,
    /// an existing database, to connect to while others are created
    maintenance: String,
    /// `?sslmode=…` and the like, or nothing
    parameters: String,
}

impl Server {
    /// The server of a URL, if it answers.
    pub fn at(url: &str) -> Result<Self, Skipped> {
        let refused = |why: &str| Skipped::because(format!("{} {why}", super::VARIABLE));
        let (scheme, rest) = url.split_once("://").unwrap_or_default();
        if !matches!(scheme, "postgres" | "postgresql") {
            return Err(refused("is not a URL such as postgres://user:password@127.0.0.1:5432"));
        }
        let (rest, parameters) = rest.split_at(rest.find('?').unwrap_or(rest.len()));
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let server = Self {
            authority: format!("postgres://{authority}"),
            maintenance: if database.is_empty() { "postgres" } else { database }.to_owned(),
            parameters: parameters.to_owned(),
        };
        server
            .psql(&server.maintenance_url(), "select 1")
            .map_err(|why| refused(&format!("names a server that does not answer: {why}")))?;
        Ok(server)
    }

    /// The URL of a database for administration, which no test fills.
    pub fn maintenance_url(&self) -> String {
        self.url_of(&self.maintenance)
    }

    /// Creates a database and answers its URL. The name is a hint for whoever looks into the server: two
    /// databases of one hint are two.
    #[track_caller]
    pub fn database(&self, hint: &str) -> String {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let (process, count) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        // PostgreSQL cuts names at 63 bytes, and the end is what keeps them apart.
        let hint: String = hint.chars().filter(char::is_ascii_alphanumeric).take(40).collect();
        let name = format!("{}_{process}_{count}", hint.to_ascii_lowercase());
        self.query(&self.maintenance_url(), &format!("create database {name}"));
        self.url_of(&name)
    }

    /// Runs SQL in a database, and answers its rows as lines with `|` between columns.
    #[track_caller]
    pub fn query(&self, url: &str, sql: &str) -> Vec<String> {
        let text = self.psql(url, sql).unwrap_or_else(|why| panic!("psql refused {sql:?}: {why}"));
        text.lines().map(str::to_owned).collect()
    }

    fn url_of(&self, database: &str) -> String {
        format!("{}/{database}{}", self.authority, self.parameters)
    }

    fn psql(&self, url: &str, sql: &str) -> Result<String, String> {
        let mut psql = Command::new("psql");
        psql.args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align"]);
        psql.args(["--set", "ON_ERROR_STOP=1", "--dbname", url, "--command", sql]);
        psql.env("PGCONNECT_TIMEOUT", "10");
        let output = psql.output().map_err(|error| format!("cannot run psql: {error}"))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
    }
}
