//! Directories in which files are dropped.

use std::fs;
use std::path::PathBuf;

use stepwell_connectors::file_drop::{DropDirectory, DropError, Glob, check_place};
use tempfile::TempDir;

struct Place {
    root: TempDir,
    inbox: PathBuf,
}

impl Place {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let inbox = root.path().join("inbox");
        fs::create_dir(&inbox).unwrap();
        Self { root, inbox }
    }

    fn open(&self) -> DropDirectory {
        DropDirectory::open(&self.inbox, &[self.root.path().to_owned()]).unwrap()
    }

    fn drop(&self, name: &str, content: &str) {
        fs::write(self.inbox.join(name), content).unwrap();
    }

    fn names(&self, glob: &str) -> Vec<String> {
        let files = self.open().files(&Glob::parse(glob).unwrap()).unwrap();
        files.into_iter().map(|file| file.name).collect()
    }
}

#[test]
fn only_finished_visible_plain_files_with_a_fitting_name_are_seen() {
    let place = Place::new();
    let all = ["b.csv", "a.csv", "c.txt", ".hidden.csv", "d.csv.part", "e.tmp", "~f.csv"];
    all.iter().for_each(|name| place.drop(name, "x"));
    fs::create_dir(place.inbox.join("directory.csv")).unwrap();
    assert_eq!(place.names("*.csv"), ["a.csv", "b.csv"]);
    assert_eq!(place.names("*"), ["a.csv", "b.csv", "c.txt"]);
}

#[test]
fn only_allowed_directories_are_looked_at() {
    let place = Place::new();
    let elsewhere = tempfile::tempdir().unwrap();
    let allowed = [place.root.path().to_owned()];
    let refused = |path: PathBuf| {
        assert_eq!(DropDirectory::open(&path, &allowed), Err(DropError::NotAllowed(path.clone())));
        assert!(DropDirectory::open(&path, &[]).is_err(), "nothing is allowed by default");
    };
    refused(elsewhere.path().to_owned());
    refused(place.inbox.join("../../etc"));
    refused(PathBuf::from("inbox"));
    let missing = place.root.path().join("not-yet");
    let error = DropDirectory::open(&missing, &allowed).unwrap_err();
    assert!(matches!(error, DropError::Unreadable { .. }), "{error}");
}

#[cfg(unix)]
#[test]
fn a_link_leads_nowhere() {
    let place = Place::new();
    let elsewhere = tempfile::tempdir().unwrap();
    fs::write(elsewhere.path().join("secret.csv"), "x").unwrap();
    std::os::unix::fs::symlink(elsewhere.path().join("secret.csv"), place.inbox.join("a.csv"))
        .unwrap();
    assert!(place.names("*").is_empty(), "a linked file is not taken");
    let out = place.root.path().join("out");
    std::os::unix::fs::symlink(elsewhere.path(), &out).unwrap();
    let opened = DropDirectory::open(&out, &[place.root.path().to_owned()]);
    assert_eq!(opened, Err(DropError::NotAllowed(out)), "a linked directory is elsewhere");
    std::os::unix::fs::symlink(elsewhere.path(), place.inbox.join("processed")).unwrap();
    assert!(place.open().inside("processed").is_err(), "nothing is put away elsewhere");
}

#[test]
fn a_file_is_put_away_and_never_over_another() {
    let place = Place::new();
    let directory = place.open();
    for (content, expected) in [("one", "a.csv"), ("three", "a-1.csv"), ("fifteen", "a-2.csv")] {
        place.drop("a.csv", content);
        let file = directory.file("a.csv").unwrap();
        let at = directory.put_away(&file, "processed", "a.csv").unwrap().unwrap();
        assert!(at.ends_with(expected), "{at:?}");
        assert_eq!(fs::read_to_string(at).unwrap(), content);
        assert_eq!(directory.file("a.csv"), None);
    }
}

#[test]
fn a_file_that_was_put_away_before_a_crash_is_found_where_it_is() {
    let place = Place::new();
    let directory = place.open();
    place.drop("a.csv", "content");
    let file = directory.file("a.csv").unwrap();
    let first = directory.put_away(&file, "processed", "a.1.csv").unwrap();
    assert!(first.is_some());
    assert_eq!(directory.put_away(&file, "processed", "a.1.csv").unwrap(), first);
    assert_eq!(directory.put_away(&file, "processed", "a.2.csv").unwrap(), None);
}

#[test]
fn a_file_that_has_changed_since_it_was_seen_stays() {
    let place = Place::new();
    let directory = place.open();
    place.drop("a.csv", "first");
    let file = directory.file("a.csv").unwrap();
    place.drop("a.csv", "another, longer one");
    assert_eq!(directory.put_away(&file, "processed", "a.csv"), Ok(None));
    assert!(directory.file("a.csv").is_some());
}

#[test]
fn the_place_for_taken_files_is_inside_the_directory() {
    for place in ["processed", "processed/", "done/today"] {
        assert_eq!(check_place(place), Ok(()), "{place}");
    }
    for place in ["", ".", "..", "../out", "/tmp", "done/../../out"] {
        assert_eq!(check_place(place), Err(DropError::BadPlace(place.to_owned())));
    }
}
