//! What runs do in their batches: the numbers they get, the counters they move, and the headers that
//! are written anew when a batch has other data for them, or another version to follow.
//!
//! Nothing is asked for a run that belongs to no batch. What hangs on a run is joined to the row version
//! that this transaction made of it, as everywhere: a stale run moves no counter.

use std::collections::BTreeMap;

use stepwell_core::batch::{MemberTally, PhaseTally, Tally};
use stepwell_core::definition::Workflow;
use stepwell_core::id::{BatchId, RunId};

use super::columns::{Bound, Text, column, number, small, text};
use super::pipeline::Pipeline;
use super::run_write::Of;
use crate::rows::{CreateRows, NewHeader, SpecRow};

const BATCH_RUN_INSERT: &str = include_str!("../../sql/postgres/batch_run_insert.sql");
const STEP_SPEC_INSERT: &str = include_str!("../../sql/postgres/step_spec_insert.sql");
const RUN_HEADER_REFRESH: &str = include_str!("../../sql/postgres/run_header_refresh.sql");
const RUN_FOLLOW: &str = include_str!("../../sql/postgres/run_follow.sql");
const BATCH_COUNT: &str = include_str!("../../sql/postgres/batch_count.sql");
const BATCH_PHASE_COUNT: &str = include_str!("../../sql/postgres/batch_phase_count.sql");

/// What a connection has prepared that commits runs of batches.
pub(super) const STATEMENTS: [&str; 6] = [
    BATCH_RUN_INSERT,
    STEP_SPEC_INSERT,
    RUN_HEADER_REFRESH,
    RUN_FOLLOW,
    BATCH_COUNT,
    BATCH_PHASE_COUNT,
];

/// What the runs of a group do in their batches.
#[derive(Default)]
pub(super) struct Moves<'a> {
    /// runs that get a number
    numbered: Vec<&'a CreateRows>,
    headers: Vec<Of<'a, NewHeader>>,
    /// what such runs follow, by name and version
    workflows: BTreeMap<(&'a str, u32), &'a Workflow>,
    members: Vec<Of<'a, Tally>>,
    phases: Vec<PhaseMove<'a>>,
}

/// By how much a run moves the counters of one phase.
struct PhaseMove<'a> {
    run: RunId,
    batch: BatchId,
    gate: &'a str,
    tally: PhaseTally,
}

/// A step of a workflow that runs of batches follow.
pub(super) struct NamedSpec<'a> {
    workflow: &'a str,
    version: u32,
    row: SpecRow<'a>,
}

impl<'a> Moves<'a> {
    pub(super) fn is_empty(&self) -> bool {
        let Self { numbered, headers, workflows: _, members, phases } = self;
        numbered.is_empty() && headers.is_empty() && members.is_empty() && phases.is_empty()
    }

    /// A run that begins.
    pub(super) fn add_create(&mut self, create: &'a CreateRows) {
        if let Some(workflow) = &create.workflow {
            self.numbered.push(create);
            self.follow(workflow);
        }
        self.count(create.header.id, create.tally.as_ref());
    }

    /// A run that goes on.
    pub(super) fn add_advance(
        &mut self,
        run: RunId,
        header: Option<&'a NewHeader>,
        tally: Option<&'a Tally>,
    ) {
        if let Some(row) = header {
            self.headers.push(Of { run, row });
            self.follow(&row.workflow);
        }
        self.count(run, tally);
    }

    fn follow(&mut self, workflow: &'a Workflow) {
        self.workflows.insert((&workflow.name, workflow.version), workflow);
    }

    fn count(&mut self, run: RunId, tally: Option<&'a Tally>) {
        let Some(row) = tally else { return };
        if row.members != MemberTally::default() {
            self.members.push(Of { run, row });
        }
        let batch = row.batch;
        let moves = row.phases.iter();
        self.phases.extend(moves.map(|(gate, tally)| PhaseMove {
            run,
            batch,
            gate,
            tally: *tally,
        }));
    }

    /// The batches whose counters move.
    pub(super) fn batches(&self) -> impl Iterator<Item = BatchId> {
        let members = self.members.iter().map(|it| it.row.batch);
        members.chain(self.phases.iter().map(|it| it.batch))
    }

    /// What the steps of the runs follow.
    pub(super) fn specs(&self) -> Vec<NamedSpec<'a>> {
        let of = |((workflow, version), steps): (&(&'a str, u32), &&'a Workflow)| {
            let (workflow, version) = (*workflow, *version);
            let rows = SpecRow::encode_all(steps).into_iter();
            rows.map(move |row| NamedSpec { workflow, version, row })
        };
        self.workflows.iter().flat_map(of).collect()
    }

    /// Sends what hangs on the runs.
    pub(super) fn send<'b>(&'b self, pipeline: &mut Pipeline<'b>) {
        if !self.numbered.is_empty() {
            pipeline.send(BATCH_RUN_INSERT, numbered(&self.numbered));
        }
        if !self.headers.is_empty() {
            pipeline.send(RUN_HEADER_REFRESH, headers(&self.headers));
            pipeline.send(RUN_FOLLOW, followed(&self.headers));
        }
    }

    /// Sends the counters, which others wait for from here on.
    pub(super) fn send_counts<'b>(&'b self, pipeline: &mut Pipeline<'b>) {
        if !self.members.is_empty() {
            pipeline.send(BATCH_COUNT, member_moves(&self.members));
        }
        if !self.phases.is_empty() {
            pipeline.send(BATCH_PHASE_COUNT, phase_moves(&self.phases));
        }
    }
}

/// Sends what steps follow. Before any batch is locked: others may be sending the same.
pub(super) fn send_specs<'b>(specs: &'b [NamedSpec<'b>], pipeline: &mut Pipeline<'b>) {
    if specs.is_empty() {
        return;
    }
    let seconds = |interval: Option<u64>| interval.map(number);
    let bound = vec![
        column(specs, |it| Text(it.workflow)),
        column(specs, |it| small(it.version)),
        column(specs, |it| i32::from(it.row.position)),
        column(specs, |it| Text(it.row.step)),
        column(specs, |it| text(it.row.gate)),
        column(specs, |it| i32::from(it.row.gate_position)),
        column(specs, |it| Text(it.row.kind)),
        column(specs, |it| Text(it.row.pool)),
        column(specs, |it| text(it.row.on_failure)),
        column(specs, move |it| seconds(it.row.poll_interval_s)),
        column(specs, move |it| seconds(it.row.poll_timeout_s)),
        column(specs, |it| i64::from(it.row.retries_max)),
        column(specs, |it| number(it.row.retry_interval_s)),
    ];
    pipeline.send(STEP_SPEC_INSERT, bound);
}

fn numbered<'a>(runs: &'a [&'a CreateRows]) -> Vec<Bound<'a>> {
    vec![
        column(runs, |it| it.header.membership.map(|known| known.number.0)),
        column(runs, |it| it.header.id.0),
        column(runs, |it| it.header.membership.map(|known| known.batch.0)),
        column(runs, |it| Some(it.header.membership?.member?.0)),
        column(runs, |it| it.header.membership.map(|known| known.role.word())),
    ]
}

fn headers<'a>(headers: &'a [Of<'a, NewHeader>]) -> Vec<Bound<'a>> {
    vec![
        column(headers, |it| it.run.0),
        column(headers, |it| text(it.row.header.input.as_ref())),
        column(headers, |it| text(it.row.header.special.as_ref())),
    ]
}

fn followed<'a>(headers: &'a [Of<'a, NewHeader>]) -> Vec<Bound<'a>> {
    vec![
        column(headers, |it| it.run.0),
        column(headers, |it| Text(&it.row.header.workflow)),
        column(headers, |it| small(it.row.header.workflow_version)),
        column(headers, |it| i32::from(it.row.header.step_count)),
    ]
}

fn member_moves<'a>(moves: &'a [Of<'a, Tally>]) -> Vec<Bound<'a>> {
    vec![
        column(moves, |it| it.run.0),
        column(moves, |it| it.row.batch.0),
        column(moves, |it| it.row.members.open),
        column(moves, |it| it.row.members.succeeded),
        column(moves, |it| it.row.members.failed),
        column(moves, |it| it.row.members.cancelled),
    ]
}

fn phase_moves<'a>(moves: &'a [PhaseMove<'a>]) -> Vec<Bound<'a>> {
    vec![
        column(moves, |it| it.run.0),
        column(moves, |it| it.batch.0),
        column(moves, |it| Text(it.gate)),
        column(moves, |it| it.tally.open),
        column(moves, |it| it.tally.succeeded),
        column(moves, |it| it.tally.failed),
        column(moves, |it| it.tally.cancelled),
        column(moves, |it| it.tally.skipped),
        column(moves, |it| it.tally.steps_ended),
    ]
}
