//! A world that breaks a rule is made small, and can be seen again with one command.

use stepwell_sim::args::Args;
use stepwell_sim::bugs::Bug;
use stepwell_sim::plan::Options;
use stepwell_sim::shrink::shrink;
use stepwell_sim::world::run;

#[test]
fn a_broken_world_is_made_smaller_and_one_command_shows_it_again() {
    let broken = Options { bug: Some(Bug::OverwriteEnd), ..Options::of(2) };
    let before = run(&broken);
    assert!(before.violation.is_some(), "the bug shows in this world");
    let shrunk = shrink(&broken).expect("it is broken");
    assert!(shrunk.outcome.faults.values().sum::<u64>() < before.faults.values().sum());
    assert!(shrunk.outcome.faults.len() <= 3, "{:?}", shrunk.outcome.faults);

    let command = shrunk.options.command();
    let words = command.strip_prefix("cargo xtask sim ").expect("the command of the workspace");
    let args = Args::read(words.split(' ').map(str::to_owned)).expect("it can be read back");
    let again = run(&args.options);
    assert_eq!(again.violation, shrunk.outcome.violation, "{command}");
    assert!(!again.trace.is_empty(), "the world is told line by line");
}

#[test]
fn a_sound_world_has_nothing_to_shrink() {
    assert!(shrink(&Options::of(1)).is_none());
}

#[test]
fn an_option_that_does_not_exist_is_refused_with_help() {
    let read = |words: &str| Args::read(words.split(' ').map(str::to_owned));
    assert!(read("--sed 1").is_err_and(|message| message.contains("--seed N")));
    assert!(read("--faults rain").is_err_and(|message| message.contains("commit-lost")));
    assert!(read("--seed").is_err_and(|message| message.contains("wants a value")));
}
