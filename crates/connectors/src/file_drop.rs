//! Directories in which files are dropped: what lies there, and putting away what was taken.
//!
//! Looking is polling: it works on every file system, network shares included, where notices from the
//! kernel do not arrive. Only plain files directly in the directory count. A symbolic link is never
//! followed, so that nobody who may write into the directory can have files from elsewhere taken.
//! The calls block; an async caller puts them on a thread of their own.

mod glob;

use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::time::UNIX_EPOCH;

pub use self::glob::{Glob, GlobError};

/// Endings of files that somebody is still writing.
const UNFINISHED: [&str; 6] = [".part", ".partial", ".tmp", ".temp", ".crdownload", ".filepart"];

/// Names tried before a file that is in the way of another is reported.
const NAMES_MAX: u32 = 1000;

/// Why a directory could not be looked at, or a file not be put away.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DropError {
    /// The operator allows other directories only.
    #[error(
        "the directory {} is not allowed; name it, or one above it, in allow_trigger_directory",
        .0.display()
    )]
    NotAllowed(PathBuf),
    /// It is not there, or may not be read; it is tried again.
    #[error("{} cannot be read ({reason}); it is tried again", .path.display())]
    Unreadable {
        /// what
        path: PathBuf,
        /// what the system says
        reason: String,
    },
    /// The place for taken files is not below the directory.
    #[error("`{0}` is no place for taken files; name a directory inside the watched one")]
    BadPlace(String),
    /// The file stays where it is; it is tried again.
    #[error("{} cannot be put away ({reason}); it is tried again", .path.display())]
    NotPutAway {
        /// which
        path: PathBuf,
        /// what the system says
        reason: String,
    },
}

/// A file as it was seen.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DroppedFile {
    /// its name in its directory
    pub name: String,
    /// its size in bytes
    pub size: u64,
    /// when it was last written, in nanoseconds since 1970
    pub modified_ns: u128,
}

/// A directory that may be looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DropDirectory {
    path: PathBuf,
}

impl DropDirectory {
    /// A directory, if it lies in one of those that are allowed, once all links are followed.
    ///
    /// # Errors
    /// It lies elsewhere, or is not there.
    pub fn open(path: &Path, allowed: &[PathBuf]) -> Result<Self, DropError> {
        // Said first, so that nobody can find out what exists where they may not look.
        if !allowed.iter().any(|root| is_below(path, root)) {
            return Err(DropError::NotAllowed(path.to_owned()));
        }
        let real = path.canonicalize().map_err(|error| unreadable(path, &error))?;
        let mut roots = allowed.iter().filter_map(|root| root.canonicalize().ok());
        if !roots.any(|root| real.starts_with(root)) {
            return Err(DropError::NotAllowed(path.to_owned()));
        }
        Ok(Self { path: real })
    }

    /// Whether a path would be allowed, as far as its text tells.
    ///
    /// # Errors
    /// It lies elsewhere.
    pub fn check(path: &Path, allowed: &[PathBuf]) -> Result<(), DropError> {
        let below = allowed.iter().any(|root| is_below(path, root));
        if below { Ok(()) } else { Err(DropError::NotAllowed(path.to_owned())) }
    }

    /// Where it is, with all links followed.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Files with a name that fits, in the order of their names. Hidden ones, and those that somebody
    /// is still writing by their name, are left out.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn files(&self, glob: &Glob) -> Result<Vec<DroppedFile>, DropError> {
        let entries = self.path.read_dir().map_err(|error| unreadable(&self.path, &error))?;
        let mut files = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| unreadable(&self.path, &error))?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            if is_unfinished(&name) || !glob.fits(&name) {
                continue;
            }
            // Does not follow links. A file that went away meanwhile is no fault.
            files.extend(entry.metadata().ok().and_then(|metadata| seen(name, &metadata)));
        }
        files.sort_unstable();
        Ok(files)
    }

    /// The file of this name as it is now; `None` if there is none.
    #[must_use]
    pub fn file(&self, name: &str) -> Option<DroppedFile> {
        let metadata = fs::symlink_metadata(self.path.join(name)).ok()?;
        seen(name.to_owned(), &metadata)
    }

    /// Moves a file, as it was seen, to `place` inside the directory under a new name; where that name
    /// is taken, under one with a number. Answers where it is now, also if it was moved there before;
    /// `None` if it is no longer there as it was seen.
    ///
    /// # Errors
    /// The place is none, or the system says no.
    pub fn put_away(
        &self,
        file: &DroppedFile,
        place: &str,
        new_name: &str,
    ) -> Result<Option<PathBuf>, DropError> {
        let place = Self { path: self.inside(place)? };
        let moved = DroppedFile { name: new_name.to_owned(), ..file.clone() };
        let in_its_place = place.file(new_name);
        // Somebody else's new file of the same name must not be taken for this one.
        if self.file(&file.name).as_ref() != Some(file) {
            let was_moved = in_its_place.as_ref() == Some(&moved);
            return Ok(was_moved.then(|| place.path.join(new_name)));
        }
        let from = self.path.join(&file.name);
        let failed = |error: io::Error| DropError::NotPutAway {
            path: from.clone(),
            reason: error.to_string(),
        };
        fs::create_dir_all(&place.path).map_err(failed)?;
        let to = match in_its_place {
            None => place.path.join(new_name),
            Some(_) => claim(&place.path, new_name).map_err(failed)?,
        };
        fs::rename(&from, &to).map_err(failed)?;
        Ok(Some(to))
    }

    /// A place inside the directory, by its name.
    ///
    /// # Errors
    /// It leads elsewhere, or is the directory itself.
    pub fn inside(&self, place: &str) -> Result<PathBuf, DropError> {
        check_place(place)?;
        let path = self.path.join(place);
        // A link that was put in its place leads elsewhere.
        match path.canonicalize() {
            Ok(real) if !real.starts_with(&self.path) => Err(DropError::BadPlace(place.to_owned())),
            Ok(_) | Err(_) => Ok(path),
        }
    }
}

/// Whether a name can be a place for taken files: a directory inside the watched one.
///
/// # Errors
/// It leads elsewhere, or is the directory itself.
pub fn check_place(place: &str) -> Result<(), DropError> {
    let mut parts = Path::new(place).components().peekable();
    let is_inside = parts.peek().is_some() && parts.all(|it| matches!(it, Component::Normal(_)));
    if is_inside { Ok(()) } else { Err(DropError::BadPlace(place.to_owned())) }
}

/// Takes a name with a number that nobody has: the empty file keeps it until another is moved over it.
fn claim(place: &Path, name: &str) -> io::Result<PathBuf> {
    let (stem, ending) = match name.rfind('.') {
        Some(dot) if dot > 0 => name.split_at(dot),
        _ => (name, ""),
    };
    for number in 1..NAMES_MAX {
        let path = place.join(format!("{stem}-{number}{ending}"));
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(_) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::new(io::ErrorKind::AlreadyExists, "a thousand files of this name are there"))
}

/// Whether a path lies below another by its text, without a way up in between.
fn is_below(path: &Path, root: &Path) -> bool {
    let plain = path.components().all(|part| part != Component::ParentDir);
    path.is_absolute() && plain && path.starts_with(root)
}

fn is_unfinished(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    name.starts_with(['.', '~']) || UNFINISHED.iter().any(|ending| lower.ends_with(ending))
}

fn seen(name: String, metadata: &fs::Metadata) -> Option<DroppedFile> {
    let modified = metadata.modified().ok()?.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (size, modified_ns) = (metadata.len(), modified.as_nanos());
    metadata.is_file().then_some(DroppedFile { name, size, modified_ns })
}

fn unreadable(path: &Path, error: &io::Error) -> DropError {
    DropError::Unreadable { path: path.to_owned(), reason: error.to_string() }
}
