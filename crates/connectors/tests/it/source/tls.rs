//! Who is on the other side: a server must prove it before it is asked anything.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection};
use stepwell_connectors::source::{SourceError, SourceKind};
use stepwell_testing::postgres::{self, Cluster, Stop};

use super::{SECRET, VARIABLE, asked};

fn run(program: &str, folder: &Path, arguments: &[&str]) {
    let output = Command::new(program).current_dir(folder).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A certificate for 127.0.0.1 that vouches for itself; `None` where nobody can make one.
pub(super) fn certificate() -> Option<tempfile::TempDir> {
    if Command::new("openssl").arg("version").output().is_err() {
        eprintln!("skipped: there is no openssl to make certificates with");
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut made =
        vec!["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"];
    made.extend(["-nodes", "-subj", "/CN=server", "-addext", "subjectAltName=IP:127.0.0.1"]);
    made.extend(["-addext", "basicConstraints=critical,CA:FALSE"]);
    made.extend(["-keyout", "server.key", "-out", "server.pem"]);
    run("openssl", folder.path(), &made);
    Some(folder)
}

/// What a server encrypts with.
pub(super) fn server_config(folder: &Path) -> ServerConfig {
    let chain = vec![CertificateDer::from_pem_file(folder.join("server.pem")).unwrap()];
    let key = PrivateKeyDer::from_pem_file(folder.join("server.key")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap()
}

/// A server that answers one connection: what it says in plain, then TLS. Answers its port, and what it
/// was sent after the handshake, if that came about.
pub(super) fn tls_server(
    folder: &Path,
    greeting: &'static [u8],
    asked: usize,
) -> (u16, std::thread::JoinHandle<Vec<u8>>) {
    let config = server_config(folder);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let served = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.read_exact(&mut vec![0; asked]).unwrap();
        stream.write_all(greeting).unwrap();
        let mut session = ServerConnection::new(Arc::new(config)).unwrap();
        let mut sent = Vec::new();
        while session.complete_io(&mut stream).is_ok_and(|(read, _)| read > 0) {
            // Nothing to read yet is an error to a reader, and no news to us.
            let _ = session.reader().read_to_end(&mut sent);
        }
        sent
    });
    (port, served)
}

#[track_caller]
pub(super) fn check_untrusted(error: &SourceError) {
    let said = error.to_string();
    assert!(matches!(error, SourceError::Untrusted { .. }), "{error:?}");
    assert!(said.contains("certificate") && !said.contains(SECRET), "{said}");
}

#[tokio::test]
async fn a_url_whose_server_nobody_vouches_for_is_sent_nothing() {
    let Some(folder) = certificate() else { return };
    let (port, served) = tls_server(folder.path(), b"", 0);
    let url = format!("https://127.0.0.1:{port}/{SECRET}");
    let kind = SourceKind::Http { query: None, rows: None };
    check_untrusted(&asked(kind, &[(VARIABLE, &url)]).await.unwrap_err());
    assert_eq!(served.join().unwrap(), b"", "not even the path");
}

#[tokio::test]
async fn a_database_that_nobody_vouches_for_is_sent_nothing() {
    let Some(folder) = certificate() else { return };
    let (port, served) = tls_server(folder.path(), b"S", 8);
    let url = format!("postgres://ada:{SECRET}@127.0.0.1:{port}/hr?sslmode=verify-full");
    let kind = SourceKind::Postgres { query: "SELECT 1".to_owned() };
    check_untrusted(&asked(kind, &[(VARIABLE, &url)]).await.unwrap_err());
    assert_eq!(served.join().unwrap(), b"");
}

/// Lets a cluster encrypt with the certificate of a folder.
fn certify(cluster: &Cluster, folder: &Path) {
    let database = cluster.server().maintenance_url();
    let data = cluster.server().query(&database, "SHOW data_directory").remove(0);
    let owner = std::fs::metadata(&data).unwrap();
    for name in ["server.key", "server.pem"] {
        let there = Path::new(&data).join(name);
        std::fs::copy(folder.join(name), &there).unwrap();
        std::os::unix::fs::chown(&there, Some(owner.uid()), Some(owner.gid())).unwrap();
        run("chmod", folder, &["600", there.to_str().unwrap()]);
    }
    for setting in ["ssl = on", "ssl_cert_file = 'server.pem'", "ssl_key_file = 'server.key'"] {
        cluster.server().query(&database, &format!("ALTER SYSTEM SET {setting}"));
    }
    cluster.restart(Stop::Orderly);
}

#[tokio::test]
async fn a_database_is_trusted_by_the_authority_that_is_named() {
    let Ok(cluster) = postgres::cluster() else { return };
    let Some(folder) = certificate() else { return };
    let url = cluster.server().database("tls");
    let query = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
    let ask = async |url: &str, parameters: &str| {
        let kind = SourceKind::Postgres { query: query.to_owned() };
        let mark = if url.contains('?') { '&' } else { '?' };
        asked(kind, &[(VARIABLE, &format!("{url}{mark}{parameters}"))]).await
    };
    let plain = ask(&url, "sslmode=verify-full").await.unwrap_err();
    assert_eq!(
        plain.to_string(),
        "the source is not trusted: the server does not encrypt; let it, or write sslmode=disable"
    );

    certify(&cluster, folder.path());
    let root = folder.path().join("server.pem").display().to_string();
    let trusted = ask(&url, &format!("sslmode=verify-full&sslrootcert={root}")).await.unwrap();
    assert_eq!(trusted.rows[0]["ssl"], true);
    check_untrusted(&ask(&url, "sslmode=verify-full").await.unwrap_err());
    let other_name = url.replace("127.0.0.1", "localhost");
    let other = ask(&other_name, &format!("sslmode=require&sslrootcert={root}")).await.unwrap_err();
    check_untrusted(&other);
}
