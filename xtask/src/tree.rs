//! The files of the workspace.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Outcome;
use crate::source::Source;

/// Folders that hold what was built or fetched, not what was written.
const NOT_OURS: [&str; 3] = ["target", ".git", "node_modules"];

/// The workspace root.
pub(crate) fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().expect("xtask lies directly below the workspace root").to_owned()
}

/// A file's text, or a sentence that says why not.
pub(crate) fn read(path: &str) -> Outcome<String> {
    fs::read_to_string(root().join(path)).map_err(|error| format!("cannot read {path}: {error}"))
}

/// All text files below `folder`, as path from the root and text, sorted by path.
///
/// What is not UTF-8 is not text, and no rule speaks about it.
pub(crate) fn texts(folder: &str) -> Outcome<Vec<(String, String)>> {
    let root = root();
    let mut paths = Vec::new();
    collect(&root.join(folder), &mut paths)?;
    paths.sort();
    let mut texts = Vec::new();
    for path in paths {
        let bytes =
            fs::read(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        let Ok(text) = String::from_utf8(bytes) else { continue };
        let name = path.strip_prefix(&root).expect("collected below the root");
        texts.push((name.to_string_lossy().replace('\\', "/"), text));
    }
    Ok(texts)
}

/// All Rust sources of the crates and of xtask.
pub(crate) fn sources() -> Outcome<Vec<Source>> {
    let mut texts = texts("crates")?;
    texts.append(&mut self::texts("xtask")?);
    let rust = texts.iter().filter(|(path, _)| path.ends_with(".rs"));
    Ok(rust.map(|(path, text)| Source::new(path, text)).collect())
}

fn collect(folder: &Path, paths: &mut Vec<PathBuf>) -> Outcome {
    let failed = |error| format!("cannot list {}: {error}", folder.display());
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let kind = entry.file_type().map_err(failed)?;
        if kind.is_file() {
            paths.push(entry.path());
        } else if kind.is_dir() && !NOT_OURS.iter().any(|name| entry.file_name() == *name) {
            collect(&entry.path(), paths)?;
        }
    }
    Ok(())
}
