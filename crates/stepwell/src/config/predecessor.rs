//! `~/.matoolkit/config.json`: what the tool that an estate used before was told.
//!
//! It counts after everything of our own, so that whoever comes from there needs to set nothing.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Map, Value};

use super::resolve::Surroundings;
use crate::failure::Failure;

const FILE: &str = ".matoolkit/config.json";

/// Its keys without marks and capitals, which differ between its versions, and our settings.
const KEYS: [(&str, &str); 4] = [
    ("apiurl", "server"),
    ("tenantid", "tenant_id"),
    ("clientid", "client_id"),
    ("apiscope", "api_scope"),
];

/// What the other tool was told.
#[derive(Clone, Debug, Default)]
pub(super) struct Predecessor {
    pub(super) path: PathBuf,
    pub(super) values: BTreeMap<&'static str, String>,
}

impl Predecessor {
    /// What is there; nothing if there is no such file.
    pub(super) fn read(surroundings: &Surroundings) -> Result<Self, Failure> {
        let Some(home) = surroundings.home() else { return Ok(Self::default()) };
        let path = home.join(FILE);
        let Ok(bytes) = std::fs::read(&path) else { return Ok(Self::default()) };
        let told: Map<String, Value> = serde_json::from_slice(&bytes).map_err(|error| {
            Failure::usage(format!("{} is not a JSON object: {error}", path.display()))
                .next("correct or remove it")
        })?;
        let mut values = BTreeMap::new();
        for (key, value) in told {
            let plain = key.replace(['-', '_'], "").to_lowercase();
            let setting = KEYS.iter().find(|(known, _)| *known == plain);
            if let (Some((_, setting)), Some(text)) = (setting, value.as_str()) {
                values.insert(*setting, text.to_owned());
            }
        }
        Ok(Self { path, values })
    }
}
