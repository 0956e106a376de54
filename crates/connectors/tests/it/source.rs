//! The data sources, each against the real thing; where that cannot be had, against a server that
//! follows its documentation to the letter.

mod conformance;
mod csv;
mod databricks;
#[cfg(feature = "dataverse")]
mod dataverse;
mod environment;
mod http;
mod postgres;
mod sqlite;
#[cfg(feature = "dataverse")]
mod tds;
mod tls;
mod warehouse;

use std::collections::BTreeMap;

use stepwell_connectors::source::{
    Limits, Rows, Source, SourceError, SourceKind, SourceSpec, open,
};

/// The variable that all sources of these tests name.
const VARIABLE: &str = "MEMBERS";

/// An environment of these variables.
fn environment(pairs: &[(&str, &str)]) -> impl Fn(&str) -> Option<String> + use<> {
    let pairs: BTreeMap<String, String> =
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    move |name| pairs.get(name).cloned()
}

fn spec(kind: SourceKind) -> SourceSpec {
    SourceSpec { connection: VARIABLE.to_owned(), kind }
}

/// A source of a kind in an environment.
fn opened(
    kind: SourceKind,
    pairs: &[(&str, &str)],
    limits: Limits,
) -> Result<Box<dyn Source>, SourceError> {
    open(&spec(kind), &environment(pairs), limits)
}

/// What a source of a kind in an environment answers.
async fn asked(kind: SourceKind, pairs: &[(&str, &str)]) -> Result<Rows, SourceError> {
    opened(kind, pairs, Limits::default())?.rows().await
}

/// A number of the environment that must not be repeated anywhere.
const SECRET: &str = "s3cret-0f-the-environment";

/// The code of an error and what it says, in lines of at most a hundred characters.
fn said(error: &SourceError) -> String {
    let mut lines = vec![String::new()];
    for word in format!("{}: {error}", error.code()).split(' ') {
        let line = lines.last_mut().unwrap();
        match line.len() {
            0 => line.push_str(word),
            length if length + word.len() < 100 => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.join("\n")
}
