//! The statements of a commit in their order, each with its rows as arrays.

use std::collections::BTreeSet;

use super::batch_moves::{NamedSpec, send_specs};
use super::batch_write::{BATCH_LOCK, BATCH_MEMBER_CONFLICTS, BATCH_PHASE_LOCK, Writes, joining};
use super::columns::{Bound, Text, bind, column, epoch, limit, millis, number, text};
use super::credit::{self, ACCOUNT_LOCK, CREDIT_MOVE};
use super::event::{self, EVENT_ENTER, EVENT_INSERT};
use super::judge::Judgment;
use super::pipeline::{Pipeline, Sent};
use super::run_write::{
    HISTORY_INSERT, NewRun, RUN_ADVANCE, RUN_HEADER_INSERT, RUN_INSERT, STEP_WRITE, advances,
    headers, ids, inserts, records, steps,
};
use super::sorted::Sorted;
use crate::model::{Epoch, STALE_REPORTS_MAX};
use crate::rows::{CreateRows, GroupRows};

pub(super) const BEGIN: &str = "BEGIN";
pub(super) const COMMIT: &str = "COMMIT";
pub(super) const FENCE: &str = include_str!("../../sql/postgres/fence.sql");
const TENANT_LOCK: &str = include_str!("../../sql/postgres/tenant_lock.sql");
const TENANT_OPEN: &str = include_str!("../../sql/postgres/tenant_open.sql");
pub(super) const TENANT_COUNT: &str = include_str!("../../sql/postgres/tenant_count.sql");
const RUN_RESCHEDULE: &str = include_str!("../../sql/postgres/run_reschedule.sql");
const RUN_OWNERS: &str = include_str!("../../sql/postgres/run_owners.sql");
const KEY_INSERT: &str = include_str!("../../sql/postgres/key_insert.sql");
const KEY_HOLDERS: &str = include_str!("../../sql/postgres/key_holders.sql");
const KEY_RELEASE: &str = include_str!("../../sql/postgres/key_release.sql");
const OUTBOX_INSERT: &str = include_str!("../../sql/postgres/outbox_insert.sql");
const DEAD_LETTER_INSERT: &str = include_str!("../../sql/postgres/dead_letter_insert.sql");
const STALE_REPORT_INSERT: &str = include_str!("../../sql/postgres/stale_report_insert.sql");
const INPUT_INSERT: &str = include_str!("../../sql/postgres/input_insert.sql");
const INPUT_DELETE: &str = include_str!("../../sql/postgres/input_delete.sql");

/// What a connection that commits has prepared.
pub(super) const STATEMENTS: [&str; 21] = [
    BEGIN,
    COMMIT,
    FENCE,
    TENANT_LOCK,
    TENANT_OPEN,
    TENANT_COUNT,
    RUN_ADVANCE,
    RUN_RESCHEDULE,
    RUN_OWNERS,
    RUN_INSERT,
    RUN_HEADER_INSERT,
    STEP_WRITE,
    HISTORY_INSERT,
    KEY_INSERT,
    KEY_HOLDERS,
    KEY_RELEASE,
    OUTBOX_INSERT,
    DEAD_LETTER_INSERT,
    STALE_REPORT_INSERT,
    INPUT_INSERT,
    INPUT_DELETE,
];

/// Epochs are many, connections of one are few: together they name a row of counters.
const SLOTS_EACH: i64 = 16;

/// Nobody, as the owner of runs.
const NOBODY: Epoch = Epoch(0);

/// A group that is being written.
pub(super) struct Work<'a> {
    group: &'a GroupRows,
    sorted: &'a Sorted<'a>,
    slot: i64,
    specs: Vec<NamedSpec<'a>>,
}

/// What of a group is done, as far as that is not for the server to say.
pub(super) struct Admitted<'a> {
    pub(super) runs: Vec<NewRun<'a>>,
    /// runs that do not begin
    pub(super) refused: Vec<NewRun<'a>>,
    pub(super) batches: Writes<'a>,
}

impl<'a> Admitted<'a> {
    pub(super) fn of(sorted: &Sorted<'a>, judgment: &Judgment) -> Self {
        let asked_for = sorted.asked_for.iter().copied();
        let (refused, runs) = asked_for.partition(|new| judgment.refuses(new));
        let batches = sorted.batches.iter().copied();
        let batches = Writes::of(batches.filter(|write| judgment.is_done(write.batch.id)));
        Self { runs, refused, batches }
    }
}

/// Statements whose answers decide verdicts, up to where it is judged what can be done.
#[derive(Default)]
pub(super) struct SentFirst {
    pub(super) accounts: Option<Sent>,
    pub(super) open: Option<Sent>,
    pub(super) advanced: Option<Sent>,
    pub(super) rescheduled: Option<Sent>,
    pub(super) keys_taken: Option<Sent>,
    pub(super) key_holders: Option<Sent>,
    pub(super) batch_versions: Option<Sent>,
    pub(super) runs_known: Option<Sent>,
    pub(super) members_known: Option<Sent>,
}

/// Statements whose answers decide verdicts, from there on.
#[derive(Default)]
pub(super) struct SentRest {
    pub(super) created: Option<Sent>,
    pub(super) owners: Option<Sent>,
    pub(super) struck_off: Option<Sent>,
}

impl<'a> Work<'a> {
    pub(super) fn new(group: &'a GroupRows, sorted: &'a Sorted<'a>, slot: i32) -> Self {
        let slot = epoch(group.epoch).saturating_mul(SLOTS_EACH).saturating_add(i64::from(slot));
        Self { group, sorted, slot, specs: sorted.moves.specs() }
    }

    /// Sends everything up to where it is judged what can be done.
    pub(super) fn send_first<'b>(&'b self, pipeline: &mut Pipeline<'b>) -> SentFirst {
        let sorted = self.sorted;
        pipeline.send(BEGIN, vec![]);
        pipeline.send(FENCE, vec![bind(epoch(self.group.epoch))]);
        let mut sent = SentFirst::default();
        if !sorted.accounts.is_empty() {
            sent.accounts = Some(pipeline.send(ACCOUNT_LOCK, vec![bind(&sorted.accounts)]));
        }
        if !sorted.capped.is_empty() {
            pipeline.send(TENANT_LOCK, vec![bind(&sorted.capped)]);
            sent.open = Some(pipeline.send(TENANT_OPEN, vec![bind(&sorted.capped)]));
        }
        if !sorted.advances.is_empty() {
            let bound = advances(self.group.epoch, &sorted.advances);
            sent.advanced = Some(pipeline.send(RUN_ADVANCE, bound));
        }
        if !sorted.reschedules.is_empty() {
            sent.rescheduled = Some(pipeline.send(RUN_RESCHEDULE, self.reschedules()));
        }
        if !sorted.keyed.is_empty() {
            sent.keys_taken = Some(pipeline.send(KEY_INSERT, keys(&sorted.keyed)));
            sent.key_holders = Some(pipeline.send(KEY_HOLDERS, key_names(&sorted.keyed)));
        }
        send_specs(&self.specs, pipeline);
        if !sorted.batches.is_empty() {
            self.send_batch_questions(pipeline, &mut sent);
        }
        self.send_run_question(pipeline, &mut sent);
        sent
    }

    /// Locks the batches that are decided about, with all others that the group counts in, and asks what is
    /// in the way of each decision.
    fn send_batch_questions<'b>(&'b self, pipeline: &mut Pipeline<'b>, sent: &mut SentFirst) {
        let Sorted { batches, moves, .. } = self.sorted;
        let decided = batches.iter().map(|write| write.batch.id);
        let locked: BTreeSet<i64> = decided.chain(moves.batches()).map(|batch| batch.0).collect();
        let locked = Vec::from_iter(locked);
        sent.batch_versions = Some(pipeline.send(BATCH_LOCK, vec![bind(locked.clone())]));
        pipeline.send(BATCH_PHASE_LOCK, vec![bind(locked)]);
        if batches.iter().any(|write| !write.joined.is_empty()) {
            sent.members_known = Some(pipeline.send(BATCH_MEMBER_CONFLICTS, joining(batches)));
        }
    }

    /// Asks which runs are there already, of those of which it is judged here whether they begin.
    fn send_run_question<'b>(&'b self, pipeline: &mut Pipeline<'b>, sent: &mut SentFirst) {
        let Sorted { batches, reserving, .. } = self.sorted;
        let runs = batches.iter().flat_map(|write| write.creates()).map(|create| create.header.id);
        let runs = ids(runs.chain(reserving.iter().copied()));
        if !runs.is_empty() {
            sent.runs_known = Some(pipeline.send(RUN_OWNERS, vec![bind(runs)]));
        }
    }

    /// Sends everything from there on.
    pub(super) fn send_rest<'b>(
        &'b self,
        pipeline: &mut Pipeline<'b>,
        admitted: &'b Admitted<'b>,
    ) -> SentRest {
        let mut sent = SentRest::default();
        if admitted.refused.iter().any(|new| new.rows.key.is_some()) {
            pipeline.send(KEY_RELEASE, released(&admitted.refused));
        }
        sent.created = self.send_creations(pipeline, &admitted.runs);
        self.send_followers(pipeline);
        self.send_counts(pipeline);
        self.send_reports(pipeline, &mut sent);
        admitted.batches.send(pipeline);
        // Others wait from here on, so nothing else comes after it.
        admitted.batches.send_history(pipeline);
        self.sorted.moves.send_counts(pipeline);
        self.send_credits_and_events(pipeline);
        pipeline.send(COMMIT, vec![]);
        sent
    }

    fn send_creations<'b>(
        &'b self,
        pipeline: &mut Pipeline<'b>,
        admitted: &'b [NewRun<'b>],
    ) -> Option<Sent> {
        let mut created = None;
        if !admitted.is_empty() {
            created = Some(pipeline.send(RUN_INSERT, inserts(self.owner(), admitted)));
            pipeline.send(RUN_HEADER_INSERT, headers(admitted));
        }
        // After those that cause them.
        let caused = &self.sorted.caused;
        if !caused.is_empty() {
            pipeline.send(RUN_INSERT, inserts(self.owner(), caused));
            pipeline.send(RUN_HEADER_INSERT, headers(caused));
        }
        created
    }

    /// What hangs on the runs that moved.
    fn send_followers<'b>(&'b self, pipeline: &mut Pipeline<'b>) {
        let sorted = self.sorted;
        if !sorted.steps.is_empty() {
            pipeline.send(STEP_WRITE, steps(&sorted.steps));
        }
        if !sorted.records.is_empty() {
            pipeline.send(HISTORY_INSERT, records(&sorted.records));
        }
        if !sorted.messages.is_empty() {
            pipeline.send(OUTBOX_INSERT, self.messages());
        }
        if !sorted.letters.is_empty() {
            pipeline.send(DEAD_LETTER_INSERT, self.letters());
        }
        sorted.moves.send(pipeline);
    }

    /// What runs cost, and what others are told. Last: an account may have to begin, for which another
    /// waits; and whoever reads events looks no further than where this begins.
    fn send_credits_and_events<'b>(&'b self, pipeline: &mut Pipeline<'b>) {
        let Sorted { credits, events, .. } = self.sorted;
        if !credits.is_empty() {
            pipeline.send(CREDIT_MOVE, credit::moves(credits));
        }
        if !events.is_empty() {
            pipeline.send(EVENT_ENTER, vec![]);
            pipeline.send(EVENT_INSERT, event::events(events));
        }
    }

    /// Runs that begin are counted where they are owned, runs that end where they were.
    fn send_counts<'b>(&'b self, pipeline: &mut Pipeline<'b>) {
        let Sorted { begun, ended, .. } = self.sorted;
        for (owner, runs, change) in
            [(self.owner(), begun, 1_i64), (self.group.epoch, ended, -1_i64)]
        {
            if !runs.is_empty() {
                let bound = vec![
                    bind(epoch(owner)),
                    bind(self.slot),
                    column(runs, |run| run.0),
                    bind(change),
                ];
                pipeline.send(TENANT_COUNT, bound);
            }
        }
    }

    /// What others said, and what others are told.
    fn send_reports<'b>(&'b self, pipeline: &mut Pipeline<'b>, sent: &mut SentRest) {
        let Sorted { audits, forwards, .. } = self.sorted;
        if !audits.is_empty() {
            pipeline.send(STALE_REPORT_INSERT, self.audits());
        }
        if !forwards.is_empty() {
            pipeline.send(INPUT_INSERT, self.forwards());
        }
        let asked = audits.iter().map(|report| report.run);
        let asked = ids(asked.chain(forwards.iter().map(|input| input.run)));
        if !asked.is_empty() {
            sent.owners = Some(pipeline.send(RUN_OWNERS, vec![bind(asked)]));
        }
        if !self.sorted.answers.is_empty() {
            sent.struck_off = Some(pipeline.send(INPUT_DELETE, self.answers()));
        }
    }

    /// The owner of runs that the group creates.
    fn owner(&self) -> Epoch {
        if self.group.free { NOBODY } else { self.group.epoch }
    }

    fn reschedules(&self) -> Vec<Bound<'a>> {
        let runs = &self.sorted.reschedules;
        vec![
            bind(epoch(self.group.epoch)),
            column(runs, |it| it.run.0),
            column(runs, |it| number(it.version)),
            column(runs, |it| millis(it.wake_at)),
        ]
    }

    fn messages(&self) -> Vec<Bound<'a>> {
        let messages = &self.sorted.messages;
        vec![
            column(messages, |it| it.run.0),
            column(messages, |it| Text(&it.row.kind)),
            column(messages, |it| Text(&it.row.destination)),
            column(messages, |it| Text(&it.row.body)),
            column(messages, |it| it.row.due_at.as_millis()),
        ]
    }

    fn letters(&self) -> Vec<Bound<'a>> {
        let letters = &self.sorted.letters;
        vec![
            column(letters, |it| it.run.0),
            column(letters, |it| Text(&it.row.reason)),
            column(letters, |it| text(it.row.step.as_ref())),
            column(letters, |it| Text(&it.row.error.code)),
            column(letters, |it| Text(&it.row.error.message)),
            column(letters, |it| it.row.first_error.as_ref().map(|error| Text(&error.code))),
            column(letters, |it| it.row.first_error.as_ref().map(|error| Text(&error.message))),
            column(letters, |it| it.row.at.as_millis()),
        ]
    }

    fn audits(&self) -> Vec<Bound<'a>> {
        let audits = &self.sorted.audits;
        vec![
            column(audits, |it| it.run.0),
            column(audits, |it| Text(&it.step)),
            column(audits, |it| Text(&it.kind)),
            column(audits, |it| i64::from(it.attempt)),
            column(audits, |it| it.lease.0),
            column(audits, |it| Text(&it.reason)),
            column(audits, |it| it.at.as_millis()),
            bind(limit(STALE_REPORTS_MAX)),
        ]
    }

    fn forwards(&self) -> Vec<Bound<'a>> {
        let forwards = &self.sorted.forwards;
        vec![
            column(forwards, |it| it.id),
            column(forwards, |it| it.run.0),
            column(forwards, |it| epoch(it.from)),
            column(forwards, |it| it.at.as_millis()),
            column(forwards, |it| Text(&it.body)),
        ]
    }

    fn answers(&self) -> Vec<Bound<'a>> {
        let answers = self.sorted.answers;
        let written = answers.iter().filter(|answer| answer.written);
        vec![
            bind(epoch(self.group.epoch)),
            column(answers, |answer| answer.input),
            bind(written.map(|answer| answer.input).collect::<Vec<_>>()),
        ]
    }
}

fn keys<'a>(keyed: &'a [&'a CreateRows]) -> Vec<Bound<'a>> {
    let mut bound = key_names(keyed);
    bound.extend([
        column(keyed, |it| it.header.id.0),
        column(keyed, |it| it.key.as_ref().map(|key| key.request_hash.as_slice())),
        column(keyed, |it| it.header.created_at.as_millis()),
    ]);
    bound
}

fn key_names<'a>(keyed: &'a [&'a CreateRows]) -> Vec<Bound<'a>> {
    vec![
        column(keyed, |it| Text(it.header.tenant.as_str())),
        column(keyed, |it| it.key.as_ref().map(|key| key.hash.as_slice())),
    ]
}

fn released<'a>(refused: &'a [NewRun<'a>]) -> Vec<Bound<'a>> {
    vec![
        column(refused, |it| Text(it.rows.header.tenant.as_str())),
        column(refused, |it| it.rows.key.as_ref().map(|key| key.hash.as_slice())),
        column(refused, |it| it.rows.header.id.0),
    ]
}
