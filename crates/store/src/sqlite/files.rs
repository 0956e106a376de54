//! The files on disk: made for their owner only, because they hold everybody's data.

use std::fs::{DirBuilder, OpenOptions};
use std::path::Path;

use crate::error::StoreError;

/// Makes the database file and the directories above it, where they are missing.
///
/// SQLite gives the files it makes beside the database the same permissions.
pub(super) fn prepare(database: &Path) -> Result<(), StoreError> {
    if let Some(directory) = database.parent().filter(|path| !path.as_os_str().is_empty()) {
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        only_for_owner_directory(&mut builder);
        builder.create(directory).map_err(|cause| refused(directory, &cause))?;
    }
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    only_for_owner(&mut options);
    options.open(database).map_err(|cause| refused(database, &cause))?;
    Ok(())
}

fn refused(path: &Path, cause: &std::io::Error) -> StoreError {
    StoreError::Refused { reason: format!("{} cannot be written: {cause}", path.display()) }
}

/// Lets only the owner read and write a file that is about to be made.
#[cfg(unix)]
pub(super) fn only_for_owner(options: &mut OpenOptions) {
    use std::os::unix::fs::OpenOptionsExt;
    options.mode(0o600);
}

/// Elsewhere a file takes the permissions of its directory.
#[cfg(not(unix))]
pub(super) fn only_for_owner(_options: &mut OpenOptions) {}

#[cfg(unix)]
fn only_for_owner_directory(builder: &mut DirBuilder) {
    use std::os::unix::fs::DirBuilderExt;
    builder.mode(0o700);
}

#[cfg(not(unix))]
fn only_for_owner_directory(_builder: &mut DirBuilder) {}
