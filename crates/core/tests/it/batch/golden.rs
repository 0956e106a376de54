//! Stored histories of batches must fold for ever: the written form of every entry is fixed here.
//!
//! A change of a line of the golden file is a break with histories that were already stored. A new
//! line is none.

use std::collections::BTreeSet;

use expect_test::expect_file;
use stepwell_core::batch::{BatchEntry, BatchStatus, PhaseStatus, SweepKind};
use stepwell_core::id::{MemberId, PhaseId, RunId};
use uuid::Uuid;

use super::world::{t0, timeline};
use crate::world::somebody;

/// How many kinds of entries there are. `place` makes whoever adds one count it here.
const KINDS: usize = 19;

#[test]
fn the_written_form_of_every_entry_of_a_batch_stays_as_it_is() {
    let lines: Vec<String> =
        entries().iter().map(|entry| serde_json::to_string(entry).unwrap()).collect();
    let text = format!("[\n{}\n]\n", lines.join(",\n"));
    expect_file!["../golden/batch_entries.json"].assert_eq(&text);
    let read: Vec<BatchEntry> = serde_json::from_str(&text).unwrap();
    assert_eq!(read, entries());
    for (entry, line) in read.iter().zip(&lines) {
        assert!(line.starts_with(&format!("{{\"entry\":\"{}\"", entry.word())), "{line}");
    }
}

#[test]
fn every_kind_of_entry_of_a_batch_has_a_golden_form() {
    let places: BTreeSet<usize> = entries().iter().map(place).collect();
    assert_eq!(places, (0..KINDS).collect());
}

fn entries() -> Vec<BatchEntry> {
    let (phase, run, by) = (PhaseId(7), RunId(Uuid::from_u128(2)), somebody());
    let mut entries = vec![
        BatchEntry::Detected,
        BatchEntry::InitDispatched { run, version: 2 },
        BatchEntry::InitSucceeded,
        BatchEntry::InitFailed,
        BatchEntry::Activated,
        BatchEntry::Advanced { by: by.clone() },
        BatchEntry::PhaseDispatched { phase, by: None },
        BatchEntry::PhaseDispatched { phase, by: Some(by.clone()) },
        BatchEntry::MembersJoined { members: 3, by: by.clone() },
        BatchEntry::MembersRemoved { members: 1, by: by.clone() },
        BatchEntry::StartMoved { start: t0(), by: by.clone() },
        BatchEntry::VersionAdopted { timeline: timeline(2, true), by: by.clone() },
        BatchEntry::Paused { by: by.clone() },
        BatchEntry::Resumed { by: by.clone() },
        BatchEntry::CancelRequested { by },
        BatchEntry::SweepAdvanced { through: MemberId(9) },
        BatchEntry::SweepEnded,
    ];
    let ends = PhaseStatus::ALL.iter().filter(|status| status.is_terminal());
    entries.extend(ends.map(|status| BatchEntry::PhaseEnded { phase, status: *status }));
    entries.extend(sweeps().into_iter().map(|sweep| BatchEntry::SweepBegun { sweep }));
    let ends = BatchStatus::ALL.iter().filter(|status| status.is_terminal());
    entries.extend(ends.map(|status| BatchEntry::Ended { status: *status }));
    entries
}

fn sweeps() -> Vec<SweepKind> {
    let (superseded, skipped) = (vec!["cutover@1".to_owned()], vec!["prepare@2".to_owned()]);
    vec![
        SweepKind::Open { gate: "prepare@1".to_owned() },
        SweepKind::Refresh,
        SweepKind::Adopt { version: 2, superseded, skipped },
        SweepKind::Pause,
        SweepKind::Resume,
        SweepKind::Cancel,
    ]
}

/// A number for each kind, without a gap. There is no `_` arm: a new kind does not compile until it
/// has a number, and the test above fails until it has a golden form.
fn place(entry: &BatchEntry) -> usize {
    match entry {
        BatchEntry::Detected => 0,
        BatchEntry::InitDispatched { .. } => 1,
        BatchEntry::InitSucceeded => 2,
        BatchEntry::InitFailed => 3,
        BatchEntry::Activated => 4,
        BatchEntry::Advanced { .. } => 5,
        BatchEntry::PhaseDispatched { .. } => 6,
        BatchEntry::PhaseEnded { .. } => 7,
        BatchEntry::MembersJoined { .. } => 8,
        BatchEntry::MembersRemoved { .. } => 9,
        BatchEntry::StartMoved { .. } => 10,
        BatchEntry::VersionAdopted { .. } => 11,
        BatchEntry::Paused { .. } => 12,
        BatchEntry::Resumed { .. } => 13,
        BatchEntry::CancelRequested { .. } => 14,
        BatchEntry::SweepBegun { .. } => 15,
        BatchEntry::SweepAdvanced { .. } => 16,
        BatchEntry::SweepEnded => 17,
        BatchEntry::Ended { .. } => 18,
    }
}
