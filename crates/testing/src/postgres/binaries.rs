//! Where PostgreSQL's programs are.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::Skipped;

/// The folder in which Debian keeps every version.
const DEBIAN: &str = "/usr/lib/postgresql";

/// A folder with `initdb`, `pg_ctl` and `postgres`.
#[derive(Clone, Debug)]
pub(super) struct Binaries(PathBuf);

impl Binaries {
    pub(super) fn path(&self, program: &str) -> PathBuf {
        self.0.join(program)
    }

    /// Whether the server can load this library.
    pub(super) fn has_library(&self, name: &str) -> bool {
        let file = format!("{name}.so");
        let of_version = self.0.parent().map(|version| version.join("lib"));
        let configured = answer(&self.path("pg_config"), "--pkglibdir").map(PathBuf::from);
        [of_version, configured].into_iter().flatten().any(|folder| folder.join(&file).is_file())
    }
}

/// The newest installed version.
pub(super) fn find() -> Result<Binaries, Skipped> {
    let complete = |folder: &PathBuf| {
        ["initdb", "pg_ctl", "postgres"].iter().all(|program| folder.join(program).is_file())
    };
    // A link on the path leads to the folder where the server finds its libraries.
    let real = |folder: PathBuf| {
        let server = folder.join("postgres").canonicalize().ok()?;
        server.parent().map(Path::to_owned)
    };
    candidates().into_iter().filter(complete).find_map(real).map(Binaries).ok_or_else(|| {
        Skipped::because(
            "PostgreSQL is not installed (initdb, pg_ctl and postgres are neither on the path nor in \
             /usr/lib/postgresql); `cargo xtask test` tries to install it",
        )
    })
}

fn candidates() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let configured = answer(Path::new("pg_config"), "--bindir").map(PathBuf::from);
    std::env::split_paths(&path).chain(configured).chain(debian()).collect()
}

/// Debian's versions, newest first.
fn debian() -> Vec<PathBuf> {
    let versions = std::fs::read_dir(DEBIAN).into_iter().flatten().flatten();
    let number = |folder: &PathBuf| folder.file_name()?.to_str()?.parse::<u32>().ok();
    let mut versions: Vec<PathBuf> = versions.map(|version| version.path()).collect();
    versions.sort_by_key(|folder| std::cmp::Reverse(number(folder)));
    versions.into_iter().map(|version| version.join("bin")).collect()
}

fn answer(program: &Path, question: &str) -> Option<String> {
    let output = Command::new(program).arg(question).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !text.trim().is_empty()).then(|| text.trim().to_owned())
}
