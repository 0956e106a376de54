//! One process, one file: the lock that keeps everybody else out.
//!
//! SQLite itself would let two processes write by turns, and each would hand out the other's work.
//! The lock belongs to the open file, so the system frees it when its holder dies, however it dies.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

use crate::error::StoreError;

/// The right to use a database file, until it is dropped.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
}

impl Drop for Lock {
    /// Given back by name: a process that is just being started from this one has the open file too,
    /// until it becomes another program, and would hold the lock for that long.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

impl Lock {
    /// Takes the lock of a database file.
    pub(super) fn take(database: &Path) -> Result<Self, StoreError> {
        let path = beside(database);
        let mut file = open(&path)?;
        match file.try_lock() {
            Ok(()) => {
                // Only for people, so a failure to write it is none.
                let _ = note_holder(&mut file);
                Ok(Self { file })
            }
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                let _ = file.read_to_string(&mut holder);
                Err(StoreError::Refused { reason: refusal(database, holder.trim()) })
            }
            Err(TryLockError::Error(cause)) => Err(StoreError::Refused {
                reason: format!(
                    "{} cannot be locked ({cause}); put the database on a local disk",
                    path.display()
                ),
            }),
        }
    }
}

fn beside(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(".lock");
    PathBuf::from(name)
}

fn open(path: &Path) -> Result<File, StoreError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    super::files::only_for_owner(&mut options);
    options.open(path).map_err(|cause| StoreError::Refused {
        reason: format!("{} cannot be opened: {cause}", path.display()),
    })
}

fn note_holder(file: &mut File) -> std::io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    write!(file, "{}", std::process::id())
}

fn refusal(database: &Path, holder: &str) -> String {
    let holder = if holder.is_empty() { String::new() } else { format!(" (process {holder})") };
    format!(
        "{} is in use by another stepwell process{holder}; stop that one, or name another file",
        database.display()
    )
}
