//! Dataverse: what can be shown without one. There is no SQL Server to install here, so no query is
//! run; but nobody who cannot prove to be the right server is told who asks.

use std::io::{Read, Write};
use std::net::TcpListener;

use expect_test::{Expect, expect};
use stepwell_connectors::source::{Limits, SourceError, SourceKind};

use super::tls::{certificate, check_untrusted, tls_server};
use super::{SECRET, VARIABLE, asked, opened, said};

fn query() -> SourceKind {
    SourceKind::Dataverse { query: "SELECT name FROM account".to_owned() }
}

#[track_caller]
fn check(error: &SourceError, expected: Expect) {
    let said = said(error);
    assert!(!said.contains(SECRET), "{said}");
    expected.assert_eq(&said);
}

/// The answer of a server to the first packet: its version, and that it does not encrypt.
const NO_ENCRYPTION: [u8; 26] = [
    0x04, 0x01, 0, 26, 0, 0, 1, 0, // a whole answer of 26 bytes
    0x00, 0, 11, 0, 6, // the version stands at 11
    0x01, 0, 17, 0, 1,    // the encryption at 17
    0xff, // no more options
    16, 0, 0, 0, 0, 0, // the version
    2, // not supported
];

#[tokio::test]
async fn a_server_that_does_not_encrypt_is_not_told_who_asks() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let served = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut header = [0; 8];
        stream.read_exact(&mut header).unwrap();
        let rest = usize::from(u16::from_be_bytes([header[2], header[3]])) - header.len();
        stream.read_exact(&mut vec![0; rest]).unwrap();
        stream.write_all(&NO_ENCRYPTION).unwrap();
        let mut sent = Vec::new();
        let _ = stream.read_to_end(&mut sent);
        sent
    });
    let connection = format!("Server=127.0.0.1,{port};User ID=ada;Password={SECRET}");
    let error = asked(query(), &[(VARIABLE, &connection)]).await.unwrap_err();
    check(
        &error,
        expect![
            "untrusted: the source is not trusted: the server does not encrypt, and nothing is sent to such a one"
        ],
    );
    assert_eq!(served.join().unwrap(), b"", "no login was sent");
}

#[tokio::test]
async fn a_server_that_nobody_vouches_for_is_sent_nothing() {
    let Some(folder) = certificate() else { return };
    let (port, served) = tls_server(folder.path(), b"", 0);
    let connection = format!("Server=127.0.0.1,{port};Encrypt=strict;uid=ada;pwd={SECRET}");
    check_untrusted(&asked(query(), &[(VARIABLE, &connection)]).await.unwrap_err());
    assert_eq!(served.join().unwrap(), b"");
}

#[tokio::test]
async fn nobody_there_is_told() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let connection = format!("Server=127.0.0.1,{port};uid=ada;pwd={SECRET}");
    let error = asked(query(), &[(VARIABLE, &connection)]).await.unwrap_err();
    check(
        &error,
        expect!["unreachable: the source cannot be reached: Connection refused (os error 111)"],
    );
}

// A-033, A-034: what the environment lacks is named.
#[test]
fn what_is_missing_is_named() {
    let opened = |pairs: &[(&str, &str)]| {
        opened(query(), pairs, Limits::default()).err().expect("it cannot be opened")
    };
    check(
        &opened(&[]),
        expect![
            "missing_variable: the environment variable MEMBERS is not set; set it where the server runs"
        ],
    );
    let bare = (VARIABLE, "Server=org.crm.dynamics.com");
    check(
        &opened(&[bare]),
        expect![
            "missing_variable: the environment variable AZURE_CLIENT_ID is not set; set it where the server runs"
        ],
    );
    let named = format!(
        "Server=org.crm.dynamics.com;Authentication=Active Directory Service Principal;\
         User ID=app;Password={SECRET}"
    );
    check(
        &opened(&[(VARIABLE, &named)]),
        expect![
            "missing_variable: the environment variable AZURE_TENANT_ID is not set; set it where the server runs"
        ],
    );
    let unsafe_one = format!("Server=db;Password={SECRET};TrustServerCertificate=yes");
    check(
        &opened(&[(VARIABLE, &unsafe_one)]),
        expect![[r#"
            bad_variable: the environment variable MEMBERS cannot be used: TrustServerCertificate must be false:
            the server proves who it is"#]],
    );
}
