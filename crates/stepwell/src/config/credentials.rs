//! Tokens that `auth login` has stored: one for each server, readable by nobody but their owner.
//!
//! A token is kept with its server, so that naming another server never sends it there.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::resolve::Surroundings;
use crate::failure::Failure;
use crate::private_file;

const FILE: &str = "credentials.json";

/// Tokens by server.
#[derive(Clone, Debug)]
pub(crate) struct Credentials {
    /// where they are
    pub(crate) path: PathBuf,
    tokens: BTreeMap<String, String>,
}

impl Credentials {
    /// What is stored; nothing if nobody ever signed in.
    pub(crate) fn read(surroundings: &Surroundings) -> Result<Self, Failure> {
        let path = surroundings.config_directory().join(FILE);
        let tokens = match std::fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| {
                Failure::usage(format!("{} holds no credentials: {error}", path.display()))
                    .next("remove it, and sign in again with `stepwell auth login`")
            })?,
            Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => BTreeMap::new(),
            Err(cause) => return Err(Failure::file(&path, "read", &cause)),
        };
        Ok(Self { path, tokens })
    }

    /// The token for a server.
    pub(crate) fn token(&self, server: &str) -> Option<&str> {
        self.tokens.get(origin(server)).map(String::as_str)
    }

    /// Keeps a token for a server, in place of any other.
    pub(crate) fn keep(&mut self, server: &str, token: String) -> Result<(), Failure> {
        self.tokens.insert(origin(server).to_owned(), token);
        self.write()
    }

    /// Forgets the token for a server; `false` if there was none.
    pub(crate) fn forget(&mut self, server: &str) -> Result<bool, Failure> {
        if self.tokens.remove(origin(server)).is_none() {
            return Ok(false);
        }
        self.write().map(|()| true)
    }

    fn write(&self) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(&self.tokens).expect("texts are JSON");
        private_file::write(&self.path, &format!("{text}\n"))
    }
}

/// The server as it is written down: a slash at the end makes no difference.
fn origin(server: &str) -> &str {
    server.trim_end_matches('/')
}
