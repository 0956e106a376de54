//! Prints `docs/state-machine.md` from the tables of arrows.
//!
//! `cargo xtask diagram` writes the file; a test and `cargo xtask diagram --check` compare it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use stepwell_core::batch::{BatchStatus, PhaseStatus};
use stepwell_core::run::RunStatus;
use stepwell_core::step::StepStatus;
use stepwell_core::table::{Arrow, BATCH_ARROWS, PHASE_ARROWS, RUN_ARROWS, STEP_ARROWS};

const INTRO: &str = "\
# The state machine

A run is a graph of steps; a batch takes many runs through phases. Each of the four has a status, and a status changes only
by an entry of the run's or the batch's history. The pictures and tables below are drawn from `crates/core/src/table.rs`.
Tests drive the machines through thousands of random lives and fail when an arrow is missing here, or is drawn here and never
taken.

An attempt counts only while its number and its lease are the ones in force; whatever else a worker says is refused and
changes nothing. Entries that leave a status as it is (an attempt that the bus confirmed, a gate that opened, a question of
a poll) are not drawn.
";

const STEP_INTRO: &str = "\
A step waits until the steps before it let it pass and its gate is open. Then its condition is asked, if it has one. Attempts
follow one another until one of them succeeds, none is left, or the run is stopped. A step with a list is not tried itself: it
is expanded into items, each of which is a step with this same life, and ends after the last of them.
";

const RUN_INTRO: &str = "\
A run is under way from its first recorded attempt on; where one worker keeps an attempt, from the moment a worker has taken it,
and it is ready again while the message of its next attempt waits for a worker. It ends when all its steps have ended: as cancelled if somebody asked
for it, else as failed if a step failed whose failure matters, else as succeeded.
";

const PHASE_INTRO: &str = "\
A phase of a batch begins when its time has come, or when a person says so, and only while the batch is active. It is over when
no member is in it any more: completed if at least one did all of it.
";

const BATCH_INTRO: &str = "\
A batch is detected with its members, prepared if its runbook has an `init`, and active while its phases run. It ends when every
phase is over and no member is still catching up: as failed only if a phase failed and none was completed.
";

/// What each entry means, in the order of a run's life, and then of a batch's.
const MEANINGS: [(&str, &str); 27] = [
    ("run_started", "the run may go"),
    ("step_carried", "an earlier run had finished the step"),
    ("step_readied", "the step could be dispatched, but the run is paused"),
    (
        "step_expanded",
        "the step is done once for each item of a list; each item is a step of its own",
    ),
    ("step_dispatched", "an attempt was recorded and goes to the bus with the same commit"),
    ("step_acked", "a worker took the attempt"),
    ("step_polling", "the worker answered: not finished yet; it is asked again later"),
    ("attempt_failed", "an attempt ended without success; the next one has its time"),
    ("step_held", "an attempt ended without success; the next comes with the run's next attempt"),
    ("step_operated", "a person asked for another attempt at once"),
    ("step_succeeded", "the worker is done, or a person took the step as done"),
    ("step_gathered", "all items of the step ended well; its result is the list of theirs"),
    ("step_failed", "the step failed for good"),
    ("step_timed_out", "the last attempt, or the polling, took too long"),
    ("step_cancelled", "the run was stopped, or a failure elsewhere ended everything"),
    (
        "step_skipped",
        "a step before it, or another item of its step, did not succeed; or its condition did not hold, \
         or a person or a newer version passed it over",
    ),
    ("cancel_requested", "somebody asked to stop the run"),
    ("run_retry_scheduled", "an attempt of the whole run failed; the next one has its time"),
    ("run_retried", "the next attempt of the whole run began"),
    ("run_succeeded", "every step ended well, or its failure does not matter"),
    ("run_failed", "a step failed for good"),
    ("run_cancelled", "what was under way has ended"),
    (
        "phase_dispatched",
        "its time has come, or somebody said so; its gate is opened for every member",
    ),
    (
        "phase_ended",
        "no member is in it any more; or it was passed over, or replaced by a newer version",
    ),
    ("init_dispatched", "the batch is being prepared, for the first time or again"),
    ("activated", "the batch is prepared, or need not be"),
    ("ended", "every phase is over, the preparation failed, or a person stopped the batch"),
];

#[allow(dead_code)] // A test takes the drawing from here and does not print it.
fn main() {
    print!("{}", drawing());
}

/// The whole document.
pub(crate) fn drawing() -> String {
    let steps: Vec<Drawn> = STEP_ARROWS.iter().map(|arrow| drawn(arrow, step_word)).collect();
    let runs: Vec<Drawn> = RUN_ARROWS.iter().map(|arrow| drawn(arrow, run_word)).collect();
    let phases: Vec<Drawn> =
        PHASE_ARROWS.iter().map(|arrow| drawn(arrow, PhaseStatus::word)).collect();
    let batches: Vec<Drawn> =
        BATCH_ARROWS.iter().map(|arrow| drawn(arrow, BatchStatus::word)).collect();
    let step_ends = ends(&StepStatus::ALL, step_word, |status| status.is_terminal());
    let run_ends = ends(&RunStatus::ALL, run_word, |status| status.is_terminal());
    let phase_ends = ends(PhaseStatus::ALL, PhaseStatus::word, |status| status.is_terminal());
    let batch_ends = ends(BatchStatus::ALL, BatchStatus::word, |status| status.is_terminal());
    [
        INTRO.to_owned(),
        chapter("A step", STEP_INTRO, &steps, "waiting", &step_ends),
        chapter("A run", RUN_INTRO, &runs, "created", &run_ends),
        chapter("A phase", PHASE_INTRO, &phases, "pending", &phase_ends),
        chapter("A batch", BATCH_INTRO, &batches, "detected", &batch_ends),
    ]
    .join("\n")
}

fn chapter(
    title: &str,
    intro: &str,
    arrows: &[Drawn],
    first: &str,
    ends: &BTreeSet<&str>,
) -> String {
    let (picture, table) = (picture(arrows, first, ends), table(arrows));
    format!("## {title}\n\n{intro}\n{picture}\n{table}")
}

/// An arrow in words.
struct Drawn {
    from: &'static str,
    entry: &'static str,
    to: &'static str,
}

fn drawn<S: Copy>(arrow: &Arrow<S>, word: fn(S) -> &'static str) -> Drawn {
    Drawn { from: word(arrow.from), entry: arrow.entry, to: word(arrow.to) }
}

fn step_word(status: StepStatus) -> &'static str {
    status.word()
}

fn run_word(status: RunStatus) -> &'static str {
    status.word()
}

fn ends<S: Copy>(
    all: &[S],
    word: fn(S) -> &'static str,
    is_end: fn(S) -> bool,
) -> BTreeSet<&'static str> {
    all.iter().copied().filter(|status| is_end(*status)).map(word).collect()
}

/// Arrows between the same two statuses are drawn as one, or nobody could read the picture.
fn picture(arrows: &[Drawn], first: &str, ends: &BTreeSet<&str>) -> String {
    let mut order: Vec<(&str, &str)> = Vec::new();
    let mut entries: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for arrow in arrows {
        let between = (arrow.from, arrow.to);
        if !entries.contains_key(&between) {
            order.push(between);
        }
        entries.entry(between).or_default().push(arrow.entry);
    }
    let mut text = format!("```mermaid\nstateDiagram-v2\n    [*] --> {first}\n");
    for (from, to) in order {
        let label = entries[&(from, to)].join(", ");
        let _ = writeln!(text, "    {from} --> {to}: {label}");
    }
    for end in ends {
        let _ = writeln!(text, "    {end} --> [*]");
    }
    text + "```\n"
}

fn table(arrows: &[Drawn]) -> String {
    let mut text = "| from | entry | to | meaning |\n|---|---|---|---|\n".to_owned();
    for Drawn { from, entry, to } in arrows {
        let _ = writeln!(text, "| {from} | `{entry}` | {to} | {} |", meaning(entry));
    }
    text
}

fn meaning(entry: &str) -> &'static str {
    let known = MEANINGS.iter().find(|(word, _)| *word == entry);
    let Some((_, meaning)) = known else { panic!("say in MEANINGS what {entry} means") };
    meaning
}
