//! The secret that webhooks are signed with, in a file that people can read and replace.
//!
//! Receivers need it to verify what they get, so it cannot stay inside the database. It is written
//! as the Standard Webhooks specification wants it: `whsec_` and the bytes in base64.
//!
//! Servers that share a store must sign alike, so that theirs comes from the store the first time.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use stepwell_store::Store;

use super::store::store_failure;
#[cfg(feature = "postgres")]
use crate::config::StorePlace;
use crate::failure::Failure;

const FILE: &str = "webhook-secret";
/// In a shared store.
const NAME: &str = "webhook_secret";
const PREFIX: &str = "whsec_";
/// As the specification asks for: 24 to 64 bytes.
const BYTES: std::ops::RangeInclusive<usize> = 24..=64;

/// The secret in the data directory; if there is none, that of a shared store or a fresh one is
/// written there.
pub(super) async fn read_or_create(data: &Path, store: &dyn Store) -> Result<Vec<u8>, Failure> {
    let path = data.join(FILE);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(cause) if cause.kind() == ErrorKind::NotFound => {
            let fresh = rand::random::<[u8; 32]>().to_vec();
            let secret = match store.is_shared() {
                true => store.secret(NAME.to_owned(), fresh).await,
                false => Ok(fresh),
            };
            create(&path, &secret.map_err(|error| store_failure(&error))?)?
        }
        Err(cause) => return Err(Failure::file(&path, "read", &cause)),
    };
    parse(text.trim()).ok_or_else(|| {
        Failure::usage(format!("{} holds no webhook secret", path.display()))
            .next("write whsec_ and 24 to 64 bytes in base64, or remove the file for a fresh one")
    })
}

/// Takes the secret that lies beside a file of SQLite along to the database it was moved to.
#[cfg(feature = "postgres")]
pub(crate) async fn carry(file: &Path, url: &str) -> Result<(), Failure> {
    let Some(text) = file.parent().and_then(|data| std::fs::read_to_string(data.join(FILE)).ok())
    else {
        return Ok(());
    };
    let Some(secret) = parse(text.trim()) else { return Ok(()) };
    let place = StorePlace::Postgres(url.to_owned());
    let store = super::store::open(&place).await?.store;
    let stored = store.secret(NAME.to_owned(), secret).await;
    stored.map_err(|error| store_failure(&error))?;
    store.close().await.map_err(|error| store_failure(&error))
}

fn create(path: &Path, secret: &[u8]) -> Result<String, Failure> {
    let text = format!("{PREFIX}{}", BASE64_STANDARD.encode(secret));
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|cause| Failure::file(folder, "made", &cause))?;
    }
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
    use stepwell_core::time::Timestamp;
    use stepwell_store::memory::MemoryStore;

    use super::*;

    #[tokio::test]
    async fn a_secret_is_made_once_and_a_broken_one_is_not_replaced_in_silence() {
        let data = tempfile::tempdir().unwrap();
        let store = MemoryStore::new();
        let first = read_or_create(data.path(), &store).await.unwrap();
        assert_eq!(read_or_create(data.path(), &store).await.unwrap(), first);
        std::fs::write(data.path().join(FILE), "whsec_c2hvcnQ=\n").unwrap();
        let refusal = read_or_create(data.path(), &store).await.unwrap_err();
        assert!(refusal.what.contains("holds no webhook secret"), "{refusal}");
    }

    #[tokio::test]
    async fn servers_that_share_a_store_sign_with_one_secret() {
        let store = MemoryStore::shared(|| Timestamp::from_millis(0));
        let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let secret = read_or_create(first.path(), &store).await.unwrap();
        assert_eq!(read_or_create(second.path(), &store).await.unwrap(), secret);
    }
}
