//! Where the database is, and how it proves who it is.
//!
//! Other clients encrypt without asking whom they talk to unless told otherwise. Here the server must
//! prove itself, because its answer decides what happens to people's mailboxes; `sslmode=disable` says
//! that the way is safe by itself. Only to this very machine that is the default.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::source::error::SourceError;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

const SHAPE: &str =
    "write postgres://user:password@host:5432/database?sslmode=verify-full&sslrootcert=/path.pem";

/// Where the database is.
pub(super) struct Place {
    /// what the driver connects with
    pub(super) config: Config,
    /// whose certificates are trusted, if not those that the machine trusts
    authorities: Option<PathBuf>,
}

impl Place {
    /// Reads a URL.
    ///
    /// # Errors
    ///
    /// Why it cannot be used, in words that do not repeat it.
    pub(super) fn parse(url: &str) -> Result<Self, String> {
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            return Err(format!("it does not begin with postgres://; {SHAPE}"));
        }
        let (address, parameters) = url.split_once('?').unwrap_or((url, ""));
        let (mut mode, mut authorities, mut theirs) = (None, None, Vec::new());
        for parameter in parameters.split('&').filter(|parameter| !parameter.is_empty()) {
            match parameter.split_once('=') {
                Some(("sslmode", value)) => mode = Some(value),
                Some(("sslrootcert", "system")) => authorities = None,
                Some(("sslrootcert", value)) => authorities = Some(decoded(value)?),
                _ => theirs.push(parameter),
            }
        }
        let plain = format!("{address}?{}", theirs.join("&"));
        let mut config: Config =
            plain.parse().map_err(|_| format!("it is no URL of a database; {SHAPE}"))?;
        let mode = match mode {
            Some("disable") => SslMode::Disable,
            Some("require" | "verify-full") => SslMode::Require,
            Some(_) => return Err("sslmode must be verify-full or disable".to_owned()),
            None if is_local(&config) => SslMode::Disable,
            None => SslMode::Require,
        };
        config.ssl_mode(mode);
        if config.get_application_name().is_none() {
            config.application_name("stepwell");
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        Ok(Self { config, authorities })
    }

    /// What must not be repeated.
    pub(super) fn password(&self) -> Option<String> {
        self.config.get_password().map(|password| String::from_utf8_lossy(password).into_owned())
    }

    /// What encrypts the connection.
    pub(super) fn connector(&self) -> Result<MakeRustlsConnect, SourceError> {
        let untrusted = |reason: String| SourceError::Untrusted { reason };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("ring supports the default versions of TLS");
        let builder = match &self.authorities {
            Some(path) => builder.with_root_certificates(authorities(path).map_err(untrusted)?),
            None => builder.with_platform_verifier().map_err(|error| {
                untrusted(format!(
                    "the certificates that this machine trusts cannot be read: {error}"
                ))
            })?,
        };
        Ok(MakeRustlsConnect::new(builder.with_no_client_auth()))
    }
}

fn authorities(path: &std::path::Path) -> Result<RootCertStore, String> {
    let unreadable = "the file of sslrootcert holds no certificates; it must be PEM";
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path).map_err(|_| unreadable)? {
        roots.add(certificate.map_err(|_| unreadable)?).map_err(|_| unreadable)?;
    }
    if roots.is_empty() { Err(unreadable.to_owned()) } else { Ok(roots) }
}

/// Whether the way to every host of the list stays on this machine.
fn is_local(config: &Config) -> bool {
    config.get_hosts().iter().all(|host| match host {
        Host::Tcp(name) => matches!(name.as_str(), "localhost" | "127.0.0.1" | "::1"),
        #[cfg(unix)]
        Host::Unix(_) => true,
    })
}

/// A path without its percent signs.
fn decoded(value: &str) -> Result<PathBuf, String> {
    let url = reqwest::Url::parse(&format!("query:?{value}")).ok();
    let pair = url.as_ref().and_then(|url| url.query_pairs().next());
    let path = pair.map(|(path, _)| PathBuf::from(path.into_owned()));
    path.ok_or_else(|| "sslrootcert is not readable".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(url: &str) -> Place {
        Place::parse(url).unwrap_or_else(|reason| panic!("{url}: {reason}"))
    }

    #[test]
    fn a_server_elsewhere_must_prove_who_it_is() {
        for (url, mode) in [
            ("postgres://ada@db.example/hr", SslMode::Require),
            ("postgres://ada@db.example/hr?sslmode=verify-full", SslMode::Require),
            ("postgres://ada@db.example/hr?sslmode=disable", SslMode::Disable),
            ("postgres://ada@localhost/hr", SslMode::Disable),
            ("postgres://ada@127.0.0.1:6432/hr?sslmode=require", SslMode::Require),
            ("postgres://ada@%2Fvar%2Frun%2Fpostgresql/hr", SslMode::Disable),
        ] {
            assert_eq!(place(url).config.get_ssl_mode(), mode, "{url}");
        }
        let roots = place("postgres://ada@db/hr?sslrootcert=%2Fetc%2Fa+b.pem").authorities;
        assert_eq!(roots, Some(PathBuf::from("/etc/a b.pem")));
    }

    #[test]
    fn a_url_that_cannot_be_used_says_why_and_keeps_the_password() {
        for (url, why) in [
            ("mysql://ada:secret@db/hr", "does not begin with postgres://"),
            (
                "postgres://ada:secret@db/hr?sslmode=prefer",
                "sslmode must be verify-full or disable",
            ),
            ("postgres://ada:secret@db/hr?color=red", "it is no URL of a database"),
        ] {
            let said = Place::parse(url).err().expect("it is refused");
            assert!(said.contains(why) && !said.contains("secret"), "{said}");
        }
    }
}
