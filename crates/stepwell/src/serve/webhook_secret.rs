//! The secret that webhooks are signed with, in a file that people can read and replace.
//!
//! Receivers need it to verify what they get, so it cannot stay inside the database. It is written
//! as the Standard Webhooks specification wants it: `whsec_` and the bytes in base64.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use crate::failure::Failure;

const FILE: &str = "webhook-secret";
const PREFIX: &str = "whsec_";
/// As the specification asks for: 24 to 64 bytes.
const BYTES: std::ops::RangeInclusive<usize> = 24..=64;

/// The secret in the data directory; a fresh one is written if there is none.
pub(super) fn read_or_create(data: &Path) -> Result<Vec<u8>, Failure> {
    let path = data.join(FILE);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(cause) if cause.kind() == ErrorKind::NotFound => create(&path)?,
        Err(cause) => return Err(Failure::file(&path, "read", &cause)),
    };
    parse(text.trim()).ok_or_else(|| {
        Failure::usage(format!("{} holds no webhook secret", path.display()))
            .next("write whsec_ and 24 to 64 bytes in base64, or remove the file for a fresh one")
    })
}

fn create(path: &Path) -> Result<String, Failure> {
    let text = format!("{PREFIX}{}", BASE64_STANDARD.encode(rand::random::<[u8; 32]>()));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let written = options.open(path).and_then(|mut file| writeln!(file, "{text}"));
    written.map_err(|cause| Failure::file(path, "written", &cause))?;
    Ok(text)
}

fn parse(text: &str) -> Option<Vec<u8>> {
    let bytes = BASE64_STANDARD.decode(text.strip_prefix(PREFIX)?).ok()?;
    BYTES.contains(&bytes.len()).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_made_once_and_a_broken_one_is_not_replaced_in_silence() {
        let data = tempfile::tempdir().unwrap();
        let first = read_or_create(data.path()).unwrap();
        assert_eq!(read_or_create(data.path()).unwrap(), first);
        std::fs::write(data.path().join(FILE), "whsec_c2hvcnQ=\n").unwrap();
        let refusal = read_or_create(data.path()).unwrap_err();
        assert!(refusal.what.contains("holds no webhook secret"), "{refusal}");
    }
}
