//! CSV files and directories of them.

use std::path::Path;

use expect_test::{Expect, expect};
use serde_json::json;
use stepwell_connectors::source::{Limits, SourceError, SourceKind};

use super::{SECRET, VARIABLE, asked, opened, said};

fn folder() -> tempfile::TempDir {
    tempfile::Builder::new().prefix(SECRET).tempdir().unwrap()
}

fn write(folder: &Path, name: &str, text: impl AsRef<[u8]>) {
    std::fs::write(folder.join(name), text).unwrap();
}

#[track_caller]
fn check(error: &SourceError, expected: Expect) {
    let said = said(error);
    assert!(!said.contains(SECRET), "{said}");
    expected.assert_eq(&said);
}

#[tokio::test]
async fn a_directory_is_read_file_by_file_in_the_order_of_the_names() {
    let folder = folder();
    write(folder.path(), "b.csv", "Id,Name\r\n2,\"Alan, T.\"\r\n");
    write(folder.path(), "a.csv", "\u{feff}Id,Name\n1,Ada\n");
    write(folder.path(), "c.CSV", " Id , Name \n3,\"Grace\nHopper\"");
    write(folder.path(), ".d.csv", "half of a fi");
    write(folder.path(), "readme.txt", "not a list");
    let rows =
        asked(SourceKind::Csv, &[(VARIABLE, folder.path().to_str().unwrap())]).await.unwrap();
    assert_eq!(rows.columns, ["Id", "Name"]);
    let names: Vec<_> =
        rows.rows.iter().map(|row| (row["Id"].clone(), row["Name"].clone())).collect();
    assert_eq!(
        names,
        [
            (json!("1"), json!("Ada")),
            (json!("2"), json!("Alan, T.")),
            (json!("3"), json!("Grace\nHopper"))
        ]
    );
}

#[tokio::test]
async fn what_cannot_be_read_is_told_without_the_way_to_it() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    write(folder.path(), "empty.csv", "");
    write(folder.path(), "latin.csv", b"Id\nJ\xf6rg\n");
    write(folder.path(), "ragged.csv", "Id,Name\n1,Ada\n2\n");
    write(folder.path(), "semicolon.csv", "Id;Name\n1;Ada\n");
    write(folder.path(), "twice.csv", "Id,Id\n1,2\n");
    std::fs::create_dir(path("none")).unwrap();
    std::fs::create_dir(path("mixed")).unwrap();
    write(folder.path(), "mixed/a.csv", "Id\n1\n");
    write(folder.path(), "mixed/b.csv", "Id,Name\n2,Alan\n");
    for (name, expected) in [
        (
            "missing.csv",
            expect![[r#"
                unreachable: the source cannot be reached: what MEMBERS names cannot be read (No such file or
                directory (os error 2))"#]],
        ),
        (
            "none",
            expect![
                "unreachable: the source cannot be reached: the directory that MEMBERS names has no file *.csv"
            ],
        ),
        (
            "empty.csv",
            expect![
                "unreadable: the answer of the source cannot be read: empty.csv is empty; it must begin with columns"
            ],
        ),
        (
            "latin.csv",
            expect![[r#"
                unreadable: the answer of the source cannot be read: latin.csv, row 1 below the header: it is not
                UTF-8; save it with UTF-8 encoding"#]],
        ),
        (
            "ragged.csv",
            expect![[r#"
                unreadable: the answer of the source cannot be read: ragged.csv, row 2 below the header: columns in
                the header: 2, values: 1"#]],
        ),
        (
            "semicolon.csv",
            expect![[r#"
                unreadable: the answer of the source cannot be read: semicolon.csv does not tell columns apart by
                commas; save it with commas"#]],
        ),
        (
            "twice.csv",
            expect![[
                r#"query_failed: the query failed: two columns are called "Id"; give each a name of its own"#
            ]],
        ),
        (
            "mixed",
            expect![
                "unreadable: the answer of the source cannot be read: b.csv has other columns than the file before it"
            ],
        ),
    ] {
        let error = asked(SourceKind::Csv, &[(VARIABLE, &path(name))]).await.unwrap_err();
        check(&error, expected);
    }
}

#[tokio::test]
async fn files_that_are_too_long_together_are_refused() {
    let folder = folder();
    write(folder.path(), "a.csv", "Id\n1\n");
    write(folder.path(), "b.csv", "Id\n2\n");
    let limits = Limits { bytes_max: 9, ..Limits::default() };
    let source =
        opened(SourceKind::Csv, &[(VARIABLE, folder.path().to_str().unwrap())], limits).unwrap();
    let error = source.rows().await.unwrap_err();
    assert_eq!(error, SourceError::TooManyBytes { bytes_max: 9 });
}

// The reader would take the rest of the file for one value: two members would have left.
#[tokio::test]
async fn an_open_quotation_mark_is_found() {
    let folder = folder();
    write(folder.path(), "open.csv", "Id,Name\n1,Ada\n2,\"Alan\n3,Grace\n");
    let path = folder.path().join("open.csv");
    let error = asked(SourceKind::Csv, &[(VARIABLE, path.to_str().unwrap())]).await.unwrap_err();
    check(
        &error,
        expect![[r#"
        unreadable: the answer of the source cannot be read: open.csv, row 2 below the header: a quotation
        mark opens a value and is never closed"#]],
    );
}
