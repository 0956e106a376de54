//! The environment: what is missing there, and what must not be named.

use expect_test::{Expect, expect};
use stepwell_connectors::source::{Limits, SourceKind};

use super::{SECRET, VARIABLE, opened, said};

#[track_caller]
fn check(kind: SourceKind, pairs: &[(&str, &str)], expected: Expect) {
    let error = opened(kind, pairs, Limits::default()).err().expect("it cannot be opened");
    let said = said(&error);
    assert!(!said.contains(SECRET), "{said}");
    expected.assert_eq(&said);
}

fn databricks() -> SourceKind {
    SourceKind::Databricks { query: "SELECT 1".to_owned(), warehouse_id: "WAREHOUSE".to_owned() }
}

fn http() -> SourceKind {
    SourceKind::Http { query: None, rows: None }
}

// A-034: a missing variable is an error of that source, and names the variable.
#[test]
fn what_is_missing_is_named() {
    check(
        SourceKind::Csv,
        &[],
        expect![
            "missing_variable: the environment variable MEMBERS is not set; set it where the server runs"
        ],
    );
    check(
        SourceKind::Csv,
        &[(VARIABLE, "  ")],
        expect![
            "missing_variable: the environment variable MEMBERS is not set; set it where the server runs"
        ],
    );
    let workspace = (VARIABLE, "https://adb-1.azuredatabricks.net");
    check(
        databricks(),
        &[workspace],
        expect![[r#"
            missing_variable: the environment variable MEMBERS_TOKEN (or AZURE_TENANT_ID, AZURE_CLIENT_ID and
            AZURE_CLIENT_SECRET) is not set; set it where the server runs"#]],
    );
    check(
        databricks(),
        &[workspace, ("MEMBERS_TOKEN", SECRET)],
        expect![
            "missing_variable: the environment variable WAREHOUSE is not set; set it where the server runs"
        ],
    );
    let client = ("AZURE_CLIENT_ID", "app");
    check(
        databricks(),
        &[workspace, client],
        expect![[r#"
            missing_variable: the environment variable AZURE_CLIENT_SECRET is not set; set it where the server
            runs"#]],
    );
    let secret = ("AZURE_CLIENT_SECRET", SECRET);
    check(
        databricks(),
        &[workspace, client, secret],
        expect![
            "missing_variable: the environment variable AZURE_TENANT_ID is not set; set it where the server runs"
        ],
    );
}

#[test]
fn what_cannot_be_used_is_told_without_its_value() {
    check(
        http(),
        &[(VARIABLE, SECRET)],
        expect![
            "bad_variable: the environment variable MEMBERS cannot be used: it is no URL; write https://host/path"
        ],
    );
    let plain = format!("http://hr.example/{SECRET}");
    check(
        http(),
        &[(VARIABLE, &plain)],
        expect![
            "bad_variable: the environment variable MEMBERS cannot be used: it must begin with https://"
        ],
    );
    let pairs = [(VARIABLE, "https://hr.example"), ("MEMBERS_AUTHORIZATION", "Bearer\n s3cret")];
    check(
        http(),
        &pairs,
        expect![[r#"
            bad_variable: the environment variable MEMBERS_AUTHORIZATION cannot be used: it cannot stand in a
            header; write for example: Bearer <token>"#]],
    );
    let odd = format!("https://adb.example;catalog={SECRET}");
    check(
        databricks(),
        &[(VARIABLE, &odd)],
        expect![[r#"
            bad_variable: the environment variable MEMBERS cannot be used: write https://workspace, or
            https://workspace;token=…"#]],
    );
    let tenant = [
        (VARIABLE, "https://adb.example"),
        ("AZURE_TENANT_ID", "a/../b"),
        ("AZURE_CLIENT_ID", "app"),
        ("AZURE_CLIENT_SECRET", SECRET),
    ];
    check(
        databricks(),
        &tenant,
        expect![[r#"
            bad_variable: the environment variable AZURE_TENANT_ID cannot be used: it must be the id or a domain
            of the tenant"#]],
    );
    let postgres = SourceKind::Postgres { query: "SELECT 1".to_owned() };
    let url = format!("mysql://ada:{SECRET}@db/hr");
    check(
        postgres,
        &[(VARIABLE, &url)],
        expect![[r#"
            bad_variable: the environment variable MEMBERS cannot be used: it does not begin with postgres://;
            write postgres://user:password@host:5432/database?sslmode=verify-full&sslrootcert=/path.pem"#]],
    );
}

// A query goes on from the URL of the connection, and never leaves its host.
#[test]
fn a_query_cannot_lead_to_another_host() {
    for query in [".evil.example/", "@evil.example/", ":8443/"] {
        let kind = SourceKind::Http { query: Some(query.to_owned()), rows: None };
        let opened = opened(kind, &[(VARIABLE, "https://hr.example")], Limits::default());
        let told = opened.err().expect("it leads elsewhere").to_string();
        assert!(
            told.ends_with("go on from the URL of the connection; begin it with / or ?"),
            "{told}"
        );
    }
    let kind = SourceKind::Http { query: Some("/members?x=1".to_owned()), rows: None };
    assert!(opened(kind, &[(VARIABLE, "https://hr.example/api")], Limits::default()).is_ok());
}

// A runbook names variables of its sources, not ours: its author would read our store by them.
#[test]
fn our_own_settings_are_not_a_source() {
    let spec = stepwell_connectors::source::SourceSpec {
        connection: "STEPWELL_STORE".to_owned(),
        kind: SourceKind::Postgres { query: "SELECT * FROM token".to_owned() },
    };
    let environment = super::environment(&[("STEPWELL_STORE", "postgres://localhost/stepwell")]);
    let opened = stepwell_connectors::source::open(&spec, &environment, Limits::default());
    expect![[r#"
        bad_variable: the environment variable STEPWELL_STORE cannot be used: it is a setting of this
        program, not of a source; use another name"#]]
        .assert_eq(&said(&opened.err().unwrap()));
}

#[cfg(not(feature = "dataverse"))]
#[test]
fn a_build_without_a_kind_says_which_build_has_it() {
    let kind = SourceKind::Dataverse { query: "SELECT 1".to_owned() };
    check(
        kind,
        &[(VARIABLE, "Server=x")],
        expect![[r#"
        not_built: this program was built without sources of type dataverse; use a build with the feature
        dataverse"#]],
    );
}
