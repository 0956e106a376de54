//! Dataverse: what can be shown without one. There is no SQL Server to install here, so the other side
//! is a server of our own that follows the documentation of the protocol.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;

use axum::http::StatusCode;
use axum::routing::post;
use axum::{Json, Router};
use expect_test::{Expect, expect};
use serde_json::json;
use stepwell_connectors::source::conformance::{Subject, Typing};
use stepwell_connectors::source::{Limits, SourceError, SourceKind};

use super::conformance::run;
use super::tds;
use super::tls::{certificate, check_untrusted, tls_server};
use super::{SECRET, VARIABLE, asked, opened, said};

fn query() -> SourceKind {
    asking("SELECT name FROM account")
}

fn asking(query: &str) -> SourceKind {
    SourceKind::Dataverse { query: query.to_owned() }
}

/// Where a server of ours is, and that it may be trusted.
fn connection(folder: &Path, port: u16) -> String {
    let path = folder.join("server.pem").display().to_string();
    format!("Server=127.0.0.1,{port};Encrypt=strict;TrustServerCertificateCA={path}")
}

// A-032, A-033: SQL through TDS, with the connection string of the environment.
#[tokio::test]
async fn a_tds_server_does_what_every_source_must() {
    let Some(folder) = certificate() else { return };
    let (port, _logins) = tds::serve(folder.path());
    let connection = format!("{};uid=ada;pwd={SECRET}", connection(folder.path(), port));
    let source = move |query: &str, limits| {
        opened(asking(query), &[(VARIABLE, connection.as_str())], limits).unwrap()
    };
    let (broken, slow) = (source.clone(), source.clone());
    run(Subject {
        members: Box::new(move |count, limits| source(&format!("members {count}"), limits)),
        broken: Box::new(move |limits| broken("SELECT * FROM nowhere", limits)),
        slow: Some(Box::new(move |limits| slow("never", limits))),
        unset: Box::new(|limits| opened(query(), &[], limits)),
        variable: VARIABLE,
        secrets: vec![SECRET.to_owned()],
        typing: Typing::Full,
    })
    .await;
}

#[tokio::test]
async fn what_a_server_says_is_told_without_secrets() {
    let Some(folder) = certificate() else { return };
    let (port, _logins) = tds::serve(folder.path());
    let connection = format!("{};uid=ada;pwd={SECRET}", connection(folder.path(), port));
    for (text, expected) in [
        (
            "SELECT * FROM nowhere",
            expect!["query_failed: the query failed: Invalid object name 'nowhere'"],
        ),
        (
            "error 18456",
            expect![
                "access_denied: the source does not let us in: The login is not the one of [hidden]; check MEMBERS"
            ],
        ),
        (
            "nothing",
            expect!["query_failed: the query failed: it returns no columns; write a SELECT"],
        ),
        (
            "twice",
            expect![
                "query_failed: the query failed: it returns more than one list; write one SELECT"
            ],
        ),
    ] {
        let error = asked(asking(text), &[(VARIABLE, &connection)]).await.unwrap_err();
        check(&error, expected);
    }
}

// A-032: a token of Microsoft Entra for the very server that is asked.
#[tokio::test]
async fn an_application_logs_in_with_its_token() {
    let Some(folder) = certificate() else { return };
    let (port, logins) = tds::serve(folder.path());
    let grant = async |form: String| {
        let scope =
            "client_secret=s3cret-0f-the-environment&scope=https%3A%2F%2F127.0.0.1%2F.default";
        match form.ends_with(scope) {
            true => Ok(Json(json!({"access_token": "t0ken"}))),
            false => Err(StatusCode::BAD_REQUEST),
        }
    };
    let app = Router::new().route("/{tenant}/oauth2/v2.0/token", post(grant));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let authority = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await });
    let connection = connection(folder.path(), port);
    let pairs = [
        (VARIABLE, connection.as_str()),
        ("AZURE_AUTHORITY_HOST", authority.as_str()),
        ("AZURE_TENANT_ID", "contoso.example"),
        ("AZURE_CLIENT_ID", "app"),
        ("AZURE_CLIENT_SECRET", SECRET),
    ];
    let rows = asked(asking("members 2"), &pairs).await.unwrap();
    assert_eq!(rows.rows.len(), 2);
    let login = logins.recv().unwrap();
    assert!(tds::holds(&login, "t0ken") && !tds::holds(&login, SECRET));
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
