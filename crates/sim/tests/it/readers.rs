//! Whatever comes in is read or refused: the kept corpus of the fuzzer, and random bytes, on every
//! toolchain.

use std::fs;
use std::path::{Path, PathBuf};

use stepwell_readers::{READERS, Reader};
use stepwell_sim::chance::Chance;

/// Changed copies of one kept input.
const COPIES: usize = 20;

/// The folder in which the inputs of a target are kept.
fn kept(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target)
}

fn inputs(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = fs::read_dir(kept(target)).expect("every target has a corpus");
    let mut paths: Vec<PathBuf> =
        folder.map(|entry| entry.expect("the folder can be listed").path()).collect();
    paths.sort();
    let read = |path: PathBuf| {
        let bytes = fs::read(&path).expect("a kept input can be read");
        (path, bytes)
    };
    paths.into_iter().map(read).collect()
}

/// Feeds a reader, and names the input that it did not survive.
#[track_caller]
fn feed(read: Reader, bytes: &[u8], whence: &Path) {
    let survived = std::panic::catch_unwind(|| read(bytes));
    let text = String::from_utf8_lossy(bytes);
    assert!(survived.is_ok(), "{} was not survived: {text:?}", whence.display());
}

#[test]
fn what_the_fuzzer_once_found_interesting_is_read_or_refused() {
    for (target, read) in READERS {
        let inputs = inputs(target);
        assert!(!inputs.is_empty(), "{target} has a corpus");
        for (path, bytes) in inputs {
            feed(read, &bytes, &path);
        }
    }
}

#[test]
fn what_resembles_it_is_read_or_refused() {
    for (target, read) in READERS {
        let chance = &mut Chance::of(1, target);
        for (path, bytes) in inputs(target).into_iter().filter(|(_, bytes)| !bytes.is_empty()) {
            for _ in 0..COPIES {
                feed(read, &changed(&bytes, chance), &path);
            }
        }
    }
}

/// A copy with a byte replaced, a piece cut out, or a piece doubled.
fn changed(bytes: &[u8], chance: &mut Chance) -> Vec<u8> {
    let mut copy = bytes.to_vec();
    let from = chance.index(bytes.len());
    let to = (from + 1 + chance.index(12)).min(bytes.len());
    match chance.below(3) {
        0 => copy[from] = *chance.one_of(b"\0\n \"'{}[]:,-#&*!|>%@0129azAZ\x80\xff"),
        1 => drop(copy.drain(from..to)),
        _ => drop(copy.splice(from..from, bytes[from..to].iter().copied())),
    }
    copy
}
