//! Hostile documents are refused before they cost anything.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use stepwell_dialects::yaml::read;

/// The code of the refusal, which must come quickly even in a build without optimization.
///
/// The best of several times counts: the machine may be busy with other tests.
#[track_caller]
fn refused_quickly(text: &str) -> &'static str {
    let timed = || {
        let begun = Instant::now();
        let code = read(text.as_bytes()).unwrap_err().code;
        (begun.elapsed(), code)
    };
    let (best, code) = (0..5).map(|_| timed()).min().expect("five times were taken");
    assert!(best < Duration::from_millis(100), "took {best:?}");
    code
}

#[test]
fn an_alias_bomb_is_refused_quickly() {
    let mut bomb = String::from("a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n");
    for level in 1..9 {
        let below = vec![format!("*a{}", level - 1); 9].join(", ");
        writeln!(bomb, "a{level}: &a{level} [{below}]").unwrap();
    }
    assert_eq!(refused_quickly(&bomb), "too_large");
    let aliases = "*a, ".repeat(101);
    assert_eq!(refused_quickly(&format!("a: &a 1\nb: [{aliases}]\n")), "too_many_aliases");
    let long = format!("a: &a {}\nb: [{}]\n", "x".repeat(100_000), "*a, ".repeat(50));
    assert_eq!(refused_quickly(&long), "too_large");
}

#[test]
fn a_million_brackets_are_refused_quickly() {
    assert_eq!(refused_quickly(&"[".repeat(1_000_000)), "too_large");
    assert_eq!(refused_quickly(&"[".repeat(250_000)), "too_deep");
    assert_eq!(refused_quickly(&"{a: ".repeat(60_000)), "too_deep");
    assert_eq!(refused_quickly(&"- ".repeat(120_000)), "too_deep");
    let nested = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(read(nested(64).as_bytes()).is_ok());
    assert_eq!(refused_quickly(&nested(65)), "too_deep");
}
