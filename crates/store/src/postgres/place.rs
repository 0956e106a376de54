//! Where the database is: a URL, with the parameters that are ours.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use crate::error::StoreError;

/// The schema that our tables stand in, unless the URL names another.
const SCHEMA: &str = "stepwell";

/// Channels are named after the schema, and a name has at most 63 bytes.
const SCHEMA_BYTES_MAX: usize = 40;

/// How long to wait for a connection, unless the URL says otherwise.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Where the database is.
#[derive(Clone)]
pub(super) struct Place {
    /// what the driver connects with
    pub(super) config: Config,
    /// what our tables stand in
    pub(super) schema: String,
    /// how far the server must prove who it is
    pub(super) trust: Trust,
}

/// How far the server must prove who it is, when the connection is encrypted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Trust {
    /// `sslmode=prefer` and `require`: it need not, as with every client of PostgreSQL
    Anybody,
    /// `sslmode=verify-full`: by a certificate that this machine trusts
    System,
    /// `sslmode=verify-full&sslrootcert=…`: by a certificate of these authorities
    Authorities(PathBuf),
}

impl Place {
    /// Reads a URL such as `postgres://user:password@host:5432/database?schema=stepwell`.
    ///
    /// # Errors
    /// `Refused` with what is wrong. The URL itself is not repeated: it holds a password.
    pub(super) fn parse(url: &str) -> Result<Self, StoreError> {
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            return Err(refused("it does not begin with postgres://"));
        }
        let (address, parameters) = url.split_once('?').unwrap_or((url, ""));
        let mut ours = Parameters::default();
        let mut theirs = Vec::new();
        for parameter in parameters.split('&').filter(|parameter| !parameter.is_empty()) {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            if !ours.take(name, value)? {
                theirs.push(parameter);
            }
        }
        let plain = format!("{address}?{}", theirs.join("&"));
        let mut config: Config = plain.parse().map_err(|cause| refused(&source_text(&cause)))?;
        complete(&mut config);
        let (mode, trust) = ours.encryption()?;
        config.ssl_mode(mode);
        Ok(Self { config, schema: ours.schema()?, trust })
    }

    /// The place without user and password, for people.
    pub(super) fn shown(&self) -> String {
        let host =
            self.config.get_hosts().first().map_or("localhost".to_owned(), |host| match host {
                Host::Tcp(name) => name.clone(),
                #[cfg(unix)]
                Host::Unix(path) => path.display().to_string(),
            });
        let port = self.config.get_ports().first().copied().unwrap_or(5432);
        let database = self.config.get_dbname().unwrap_or("postgres");
        format!("{host}:{port}/{database}")
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Place").field("at", &self.shown()).field("schema", &self.schema).finish()
    }
}

/// Parameters that the driver does not know, or knows in fewer words.
#[derive(Default)]
struct Parameters {
    schema: Option<String>,
    sslmode: Option<String>,
    sslrootcert: Option<String>,
}

impl Parameters {
    /// Takes a parameter that is ours; `false` if it is not.
    fn take(&mut self, name: &str, value: &str) -> Result<bool, StoreError> {
        let place = match name {
            "schema" => &mut self.schema,
            "sslmode" => &mut self.sslmode,
            "sslrootcert" => &mut self.sslrootcert,
            _ => return Ok(false),
        };
        *place = Some(decoded(value).ok_or_else(|| refused(&format!("{name} is not readable")))?);
        Ok(true)
    }

    fn schema(&self) -> Result<String, StoreError> {
        let schema = self.schema.as_deref().unwrap_or(SCHEMA);
        let letters = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        let sound = schema.bytes().all(letters)
            && schema.starts_with(|first: char| first.is_ascii_lowercase())
            && !schema.starts_with("pg_")
            && schema.len() <= SCHEMA_BYTES_MAX;
        if sound {
            return Ok(schema.to_owned());
        }
        Err(refused(&format!(
            "schema must be a name of at most {SCHEMA_BYTES_MAX} letters a-z, digits and _, \
             beginning with a letter and not with pg_"
        )))
    }

    fn encryption(&self) -> Result<(SslMode, Trust), StoreError> {
        let roots = self.sslrootcert.as_ref().filter(|path| *path != "system").map(PathBuf::from);
        match self.sslmode.as_deref() {
            Some("disable") => Ok((SslMode::Disable, Trust::Anybody)),
            None | Some("prefer") => Ok((SslMode::Prefer, Trust::Anybody)),
            Some("require") => Ok((SslMode::Require, Trust::Anybody)),
            Some("verify-full") => {
                Ok((SslMode::Require, roots.map_or(Trust::System, Trust::Authorities)))
            }
            Some(_) => {
                Err(refused("sslmode must be one of disable, prefer, require and verify-full"))
            }
        }
    }
}

/// Adds what the URL leaves open.
fn complete(config: &mut Config) {
    if config.get_application_name().is_none() {
        config.application_name("stepwell");
    }
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(CONNECT_TIMEOUT);
    }
    // A server that is gone without a word is noticed in half a minute, not in two hours.
    config.keepalives_idle(Duration::from_secs(15));
    config.keepalives_interval(Duration::from_secs(5));
    config.keepalives_retries(3);
}

fn refused(what: &str) -> StoreError {
    StoreError::Refused {
        reason: format!(
            "the URL of the store cannot be used: {what}; write it as \
             postgres://user:password@host:5432/database?schema=stepwell&sslmode=verify-full"
        ),
    }
}

/// The driver's own words stand in the cause.
fn source_text(error: &tokio_postgres::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

/// A value without its percent signs.
fn decoded(value: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let (high, low) = (rest.next()?, rest.next()?);
                u8::from_str_radix(std::str::from_utf8(&[high, low]).ok()?, 16).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(url: &str) -> Place {
        Place::parse(url).unwrap_or_else(|error| panic!("{url}: {error}"))
    }

    #[track_caller]
    fn refusal(url: &str) -> String {
        Place::parse(url).expect_err("the URL is refused").to_string()
    }

    #[test]
    fn a_url_names_the_schema_and_how_far_the_server_is_trusted() {
        let plain = place("postgres://ada:secret@db.example/jobs");
        assert_eq!((plain.schema.as_str(), &plain.trust), ("stepwell", &Trust::Anybody));
        assert_eq!(plain.config.get_ssl_mode(), SslMode::Prefer);
        assert_eq!(plain.config.get_application_name(), Some("stepwell"));

        let full = place(
            "postgresql://ada@db.example:6432/jobs?schema=dagapp&sslmode=verify-full\
             &sslrootcert=%2Fetc%2Froot.pem&application_name=storm",
        );
        assert_eq!(full.schema, "dagapp");
        assert_eq!(full.trust, Trust::Authorities(PathBuf::from("/etc/root.pem")));
        assert_eq!(full.config.get_ssl_mode(), SslMode::Require);
        assert_eq!(full.config.get_application_name(), Some("storm"));
        assert_eq!(full.shown(), "db.example:6432/jobs");
        assert_eq!(place("postgres://a@b/c?sslmode=verify-full").trust, Trust::System);
    }

    #[test]
    fn a_url_that_cannot_be_used_says_why_and_keeps_the_password() {
        for (url, why) in [
            ("mysql://ada:secret@db/jobs", "does not begin with postgres://"),
            ("postgres://ada:secret@db/jobs?sslmode=verify-ca", "sslmode must be one of"),
            ("postgres://ada:secret@db/jobs?schema=Jobs", "schema must be a name"),
            ("postgres://ada:secret@db/jobs?schema=pg_jobs", "schema must be a name"),
            ("postgres://ada:secret@db/jobs?schema=%zz", "schema is not readable"),
            ("postgres://ada:secret@db/jobs?colour=red", "colour"),
        ] {
            let said = refusal(url);
            assert!(said.contains(why), "{said}");
            assert!(!said.contains("secret"), "{said}");
        }
        assert!(!format!("{:?}", place("postgres://ada:secret@db/jobs")).contains("secret"));
    }
}
