//! Names that say nothing, names nobody declared, and names that belong to one machine only.

use std::collections::BTreeSet;

use super::Violation;
use crate::requirement::{self, Id};
use crate::source::Source;

const EMPTY: [&str; 6] = ["util", "utils", "common", "helper", "helpers", "manager"];

/// Homes and mounts of somebody's machine. Split, so that this list does not break its own rule.
const FOLDERS: [&str; 4] =
    [concat!("/", "work/"), concat!("/", "root/"), concat!("/", "home/"), concat!("/", "Users/")];

/// Hosts that serve packages: where a dependency is fetched from is the machine's setting.
const REGISTRIES: [&str; 6] = [
    concat!("index.", "crates.io"),
    concat!("static.", "crates.io"),
    concat!("registry.", "npmjs.org"),
    concat!("files.", "pythonhosted.org"),
    concat!("artifact", "ory."),
    concat!("pkgs.", "dev.azure.com"),
];

/// A module is named for its duty, never `utils` or `common`.
pub(super) fn empty_names(source: &Source) -> Vec<Violation> {
    let parts = source.path.trim_end_matches(".rs").split('/');
    let Some(empty) = parts.into_iter().find(|part| EMPTY.contains(part)) else {
        return Vec::new();
    };
    let message = format!("`{empty}` says nothing about its duty; name what it does");
    vec![Violation::of(&source.path, message)]
}

/// A comment names only requirements that the catalog has.
pub(super) fn unknown_ids(source: &Source, declared: &BTreeSet<Id>) -> Vec<Violation> {
    let mut found = Vec::new();
    for (index, comment) in source.comments.iter().enumerate() {
        for id in requirement::named(comment).difference(declared) {
            let message = format!("docs/requirements.md has no {id}; correct the id");
            found.push(Violation::at(&source.path, index, message));
        }
    }
    found
}

/// No text names a folder of somebody's machine or a host that serves packages.
pub(super) fn machines(path: &str, text: &str) -> Vec<Violation> {
    // The lock file is written by cargo, which names its registry in it.
    if path == "Cargo.lock" {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if let Some(folder) = FOLDERS.iter().find(|folder| begins_path(line, folder)) {
            let message = format!("`{folder}` exists on one machine only; use a relative path");
            found.push(Violation::at(path, index, message));
        }
        if let Some(host) = REGISTRIES.iter().find(|host| line.contains(**host)) {
            let message = format!("`{host}` is a package registry; leave it to cargo's settings");
            found.push(Violation::at(path, index, message));
        }
    }
    found
}

/// Whether an absolute path begins with `folder`: `"/x/…"` does, `/v1/x/…` and `a/x/…` do not.
fn begins_path(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        before.is_none_or(|c| c.is_whitespace() || "\"'`(=:<[".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_without_a_duty_is_caught() {
        assert_eq!(empty_names(&Source::new("crates/core/src/utils.rs", "")).len(), 1);
        assert_eq!(empty_names(&Source::new("crates/core/tests/common/lane.rs", "")).len(), 1);
        assert_eq!(empty_names(&Source::new("crates/core/src/lane.rs", "")), []);
    }

    #[test]
    fn an_id_that_the_catalog_lacks_is_caught() {
        let declared = requirement::declared("- **D-001** Routes.\n");
        let source = Source::new("a.rs", "// D-001, D-002\nlet a = \"D-003\";\n");
        let found = unknown_ids(&source, &declared);
        assert_eq!(found.len(), 1);
        assert!(found[0].to_string().contains("D-002"));
    }

    #[test]
    fn a_folder_of_one_machine_is_caught_and_a_route_is_not() {
        for folder in FOLDERS {
            assert_eq!(machines("a.md", &format!("see {folder}x")).len(), 1);
            assert_eq!(machines("a.md", &format!("open(\"{folder}x\")")).len(), 1);
            assert_eq!(machines("a.md", &format!("GET /v1{folder}x")), []);
        }
    }

    #[test]
    fn a_package_registry_is_caught_except_in_the_lock_file() {
        for host in REGISTRIES {
            assert_eq!(machines("a.toml", &format!("url = \"https://{host}\"")).len(), 1);
            assert_eq!(machines("Cargo.lock", &format!("source = \"https://{host}\"")), []);
        }
    }
}
