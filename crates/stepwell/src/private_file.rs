//! Files that only their owner may read.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::failure::Failure;

/// Writes a file whole or not at all, with its folder; nobody but the owner may read it.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    // Where a link leads is where people keep the file.
    let path = &path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|cause| Failure::file(folder, "made", &cause))?;
    }
    // Written beside it and then put in its place: what was there is never half gone, and a file
    // that others could read does not lend its permissions to the new one.
    let beside = path.with_extension("new");
    let _ = std::fs::remove_file(&beside);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let written = options.open(&beside).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    let placed = written.and_then(|()| std::fs::rename(&beside, path));
    placed.map_err(|cause| Failure::file(path, "written", &cause))
}
