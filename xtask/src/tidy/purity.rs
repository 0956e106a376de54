//! `core` and `dialects` are pure: the same question always has the same answer.

use super::{Violation, lines_with_word};
use crate::source::Source;

const PURE: [&str; 2] = ["crates/core/src/", "crates/dialects/src/"];

/// What brings the world in, and what a pure crate does instead.
const IMPURE: [(&str, &str); 11] = [
    ("Instant", "the time comes in with the command"),
    ("SystemTime", "the time comes in with the command"),
    ("HashMap", "its order is random; use BTreeMap"),
    ("HashSet", "its order is random; use BTreeSet"),
    ("rand", "ids and chance come in with the command"),
    ("tokio", "waiting is the engine's duty"),
    ("async", "waiting is the engine's duty"),
    ("std::env", "settings come in as values"),
    ("std::fs", "reading and writing are the caller's duty"),
    ("std::net", "reading and writing are the caller's duty"),
    ("std::thread", "concurrency is the engine's duty"),
];

/// The pure crates name no clock, no chance, no I/O and no collection with a random order.
pub(super) fn impure_words(source: &Source) -> Vec<Violation> {
    if !PURE.iter().any(|folder| source.path.starts_with(folder)) {
        return Vec::new();
    }
    let tell = |(word, instead): &(&str, &str)| {
        let message = format!("`{word}` in a pure crate; {instead}");
        let found = lines_with_word(&source.code, word).into_iter();
        found.map(|index| Violation::at(&source.path, index, message.clone())).collect::<Vec<_>>()
    };
    IMPURE.iter().flat_map(tell).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, text: &str, count: usize) {
        assert_eq!(impure_words(&Source::new(path, text)).len(), count, "{text}");
    }

    #[test]
    fn a_pure_crate_reads_no_clock_and_draws_no_number() {
        check("crates/core/src/run.rs", "use std::time::{Duration, Instant};", 1);
        check("crates/dialects/src/lib.rs", "let x = rand::random();", 1);
        check("crates/core/src/run.rs", "use std::collections::HashMap;", 1);
    }

    #[test]
    fn a_pure_crate_may_speak_of_clocks_in_comments_and_texts() {
        check("crates/core/src/run.rs", "// no tokio here\nlet a = \"HashMap\"; operand()", 0);
    }

    #[test]
    fn other_crates_are_free() {
        check("crates/engine/src/clock.rs", "use std::time::{Instant, SystemTime};", 0);
    }
}
