//! After every commit: the changed runs, read back and compared.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use stepwell_core::credit::Credits;
use stepwell_core::entry::{Entry, Record};
use stepwell_core::evolve::evolve;
use stepwell_core::id::{BatchId, RunId, StepIndex, Tenant};
use stepwell_core::run::{Header, Run};
use stepwell_core::step::StepStatus;
use stepwell_core::time::Timestamp;
use stepwell_store::{Key, STALE_REPORTS_MAX, StoredRun, Verdict};

use super::model::Model;
use super::rules::{
    LEASE_WHILE_UNDER_WAY, LEASES_NEVER_REUSED, MOMENTS_IN_RANGE, NEVER_EARLY, NO_MARKER_LEFT,
    ONE_LIVE_LEASE, ONE_RUN_A_KEY, REPLAY_REBUILDS, STALE_CHANGES_NOTHING, TENANT_CAP_HOLDS,
    TERMINAL_STAYS, VERSION_STAYS, Violation, WHOLE_DECISIONS,
};
use super::{BatchSeen, BooksSeen, Observed, Oracle, Probe};

/// A run under watch.
#[derive(Debug)]
pub(super) struct Watched {
    /// the fold of its history so far
    pub(super) replayed: Run,
    /// the second opinion
    pub(super) model: Model,
    /// as it was last read back
    stored: Option<StoredRun>,
    pub(super) stale_reports: usize,
}

/// A group that was written.
#[derive(Debug)]
pub struct Committed {
    /// under which epoch
    pub epoch: u64,
    /// when, in true time
    pub at: Timestamp,
    /// its items
    pub items: Vec<(Touched, Verdict)>,
    /// the batches that it concerns, as the store has them now
    pub batches: Vec<BatchSeen>,
    /// the accounts that it may have moved
    pub books: Vec<BooksSeen>,
}

/// What an item of a group was about.
#[derive(Clone, Debug)]
pub struct Touched {
    /// which run; `None`: only those that the decision created
    pub run: Option<RunId>,
    /// the batch that was decided
    pub batch: Option<BatchId>,
    /// what was wanted
    pub touch: Touch,
    /// the runs that the decision created
    pub children: Vec<Arc<Header>>,
}

impl Touched {
    /// Something was wanted of a run.
    #[must_use]
    pub fn of(run: RunId, touch: Touch) -> Self {
        Self { run: Some(run), batch: None, touch, children: Vec::new() }
    }

    /// The run, and those that were created.
    pub fn runs(&self) -> impl Iterator<Item = RunId> {
        self.run.into_iter().chain(self.children.iter().map(|header| header.id))
    }
}

impl fmt::Display for Touched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match &self.touch {
            Touch::Create { .. } => "create",
            Touch::Advance { .. } => "advance",
            Touch::Reschedule => "reschedule",
            Touch::Audit => "audit",
            Touch::Forward => "forward",
            Touch::Batch { version } => return write!(f, "batch to v{version}"),
        };
        f.write_str(what)?;
        self.run.map_or(Ok(()), |run| write!(f, " {run}"))
    }
}

/// What an item of a group wanted.
#[derive(Clone, Debug)]
pub enum Touch {
    /// a new run
    Create {
        /// what it is
        header: Arc<Header>,
        /// the key that must be new
        key: Option<Key>,
        /// open runs that its tenant may have
        tenant_cap: Option<u32>,
    },
    /// a decision
    Advance {
        /// the version it leads to
        version: u64,
    },
    /// another moment to be woken at
    Reschedule,
    /// a stale report
    Audit,
    /// something for the run's owner, which changes nothing yet
    Forward,
    /// a decision on a batch
    Batch {
        /// the version it leads to
        version: u64,
    },
}

impl Oracle {
    /// A group was written; `read` gives the changed runs as the store has them now.
    pub fn committed(
        &mut self,
        committed: &Committed,
        mut read: impl FnMut(RunId) -> Option<Observed>,
    ) {
        self.commits += 1;
        self.fenced(committed.epoch);
        let mut seen = BTreeSet::new();
        // A run that a group writes, and audits too, is read once.
        let mut read = |run| {
            let mut observed: Observed = read(run)?;
            if !seen.insert(run) {
                observed.records.clear();
            }
            Some(observed)
        };
        for seen in &committed.batches {
            let judged = self.batch_changed(seen, committed.at);
            self.judge(judged);
        }
        for (touched, verdict) in &committed.items {
            let judged = match verdict {
                Verdict::Done => self.done(touched, committed, &mut read),
                Verdict::Duplicate(holder) => self.duplicate(touched, holder.run),
                Verdict::TenantFull { open } => self.tenant_full(touched, *open),
                Verdict::CreditsShort { balance } => self.short(touched, *balance),
                Verdict::Stale => {
                    self.saw(Probe::StaleWrite);
                    Ok(())
                }
            };
            self.judge(judged);
        }
        for seen in &committed.batches {
            let judged = self.batch_adds_up(seen);
            self.judge(judged);
        }
        for seen in &committed.books {
            let judged = self.books_balance(seen);
            self.judge(judged);
        }
    }

    fn short(&mut self, touched: &Touched, balance: Credits) -> Result<(), Violation> {
        let Touch::Create { header, .. } = &touched.touch else { return Ok(()) };
        self.is_short(header, balance)
    }

    fn done(
        &mut self,
        touched: &Touched,
        committed: &Committed,
        read: &mut impl FnMut(RunId) -> Option<Observed>,
    ) -> Result<(), Violation> {
        let at = committed.at;
        if matches!(touched.touch, Touch::Forward) {
            return Ok(());
        }
        if let Touch::Create { header, key, tenant_cap } = &touched.touch {
            self.created(header, *key, *tenant_cap)?;
        }
        for header in &touched.children {
            self.watch(header)?;
            self.written_by(header.id, committed.epoch)?;
        }
        if let Some(run) = touched.run
            && matches!(touched.touch, Touch::Create { .. } | Touch::Advance { .. })
        {
            self.written_by(run, committed.epoch)?;
        }
        for run in touched.runs() {
            let observed = read(run);
            let observed = observed.ok_or_else(|| {
                WHOLE_DECISIONS.broken(format!("run {run} was stored, and is not there"))
            })?;
            self.observe(run, observed, touched, at)?;
        }
        Ok(())
    }

    fn created(
        &mut self,
        header: &Arc<Header>,
        key: Option<Key>,
        tenant_cap: Option<u32>,
    ) -> Result<(), Violation> {
        if let Some(key) = key {
            let place = (header.tenant.clone(), key.hash);
            if let Some(holder) = self.keys.insert(place, header.id) {
                return Err(ONE_RUN_A_KEY
                    .broken(format!("the key of {holder} was given to {} too", header.id)));
            }
        }
        self.watch(header)?;
        self.made_by_trigger(header)?;
        let open = self.open_of(&header.tenant);
        let fits = tenant_cap.is_none_or(|cap| open <= cap as usize);
        TENANT_CAP_HOLDS.check(fits, || {
            format!("{} has {open} open runs, and may have {tenant_cap:?}", header.tenant)
        })
    }

    fn watch(&mut self, header: &Arc<Header>) -> Result<(), Violation> {
        let watched = Watched {
            replayed: Run::new(Arc::clone(header)),
            model: Model::new(Arc::clone(header)),
            stored: None,
            stale_reports: 0,
        };
        self.runs.insert(header.id, watched);
        self.begun_for_batch(header)
    }

    fn duplicate(&mut self, touched: &Touched, holder: RunId) -> Result<(), Violation> {
        let Touch::Create { header, key: Some(key), .. } = &touched.touch else { return Ok(()) };
        let known = self.keys.get(&(header.tenant.clone(), key.hash));
        ONE_RUN_A_KEY.check(known == Some(&holder), || {
            format!("a key is said to belong to {holder}, but belongs to {known:?}")
        })
    }

    fn tenant_full(&mut self, touched: &Touched, open: u32) -> Result<(), Violation> {
        self.saw(Probe::TenantFull);
        let Touch::Create { header, tenant_cap, .. } = &touched.touch else { return Ok(()) };
        let counted = self.open_of(&header.tenant);
        let full = tenant_cap.is_some_and(|cap| counted >= cap as usize);
        TENANT_CAP_HOLDS.check(full && counted == open as usize, || {
            let tenant: &Tenant = &header.tenant;
            format!(
                "{tenant} has {counted} open runs of {tenant_cap:?}, and was refused for {open}"
            )
        })
    }

    /// Reads what is new of a run, and compares the three tellings of it.
    fn observe(
        &mut self,
        id: RunId,
        observed: Observed,
        touched: &Touched,
        at: Timestamp,
    ) -> Result<(), Violation> {
        let Some(mut watched) = self.runs.remove(&id) else {
            return Err(WHOLE_DECISIONS.broken(format!("run {id} was never created")));
        };
        let verdict = self.compare(&mut watched, &observed, touched, at);
        watched.stored = Some(observed.stored);
        self.runs.insert(id, watched);
        verdict
    }

    fn compare(
        &mut self,
        watched: &mut Watched,
        observed: &Observed,
        touched: &Touched,
        at: Timestamp,
    ) -> Result<(), Violation> {
        let stored = &observed.stored;
        ended_stays(watched, stored)?;
        self.stale_changes_nothing(watched, observed, touched)?;
        if let Touch::Advance { version } = touched.touch
            && touched.run == Some(stored.header.id)
        {
            WHOLE_DECISIONS.check(stored.version == version, || {
                format!("the decision led to version {version}, stored is {}", stored.version)
            })?;
        }
        for record in &observed.records {
            self.read_record(watched, record, at)?;
        }
        // A member's run may have gone over to a newer version; its history says so.
        version_stays(&watched.replayed.header, stored)?;
        leases_sound(stored)?;
        replay_rebuilds(watched, stored)?;
        self.end_is_told(observed)
    }

    fn stale_changes_nothing(
        &mut self,
        watched: &mut Watched,
        observed: &Observed,
        touched: &Touched,
    ) -> Result<(), Violation> {
        if !matches!(touched.touch, Touch::Audit) {
            return Ok(());
        }
        watched.stale_reports = (watched.stale_reports + 1).min(STALE_REPORTS_MAX);
        self.saw(if watched.model.ended.is_some() {
            Probe::StaleAfterEnd
        } else {
            Probe::StaleLease
        });
        let same = watched.stored.as_ref() == Some(&observed.stored);
        // One group may bring several; all of them are there when it is read back.
        let recorded = observed.stale_reports >= watched.stale_reports;
        STALE_CHANGES_NOTHING.check(same && recorded, || {
            format!("run {} changed, or has no record of it", observed.stored.header.id)
        })
    }

    fn read_record(
        &mut self,
        watched: &mut Watched,
        record: &Record,
        at: Timestamp,
    ) -> Result<(), Violation> {
        let known = watched.replayed.version;
        WHOLE_DECISIONS.check(record.version == known + 1, || {
            format!("version {} follows {known} in the history", record.version)
        })?;
        self.dated_soundly(record, at)?;
        self.job_goes_on(&watched.replayed, record)?;
        for entry in &record.entries {
            self.note_lease(&watched.replayed, entry)?;
            no_marker_left(entry)?;
            self.member_goes_on(&watched.replayed, entry)?;
            let before: Vec<StepStatus> = watched.replayed.steps.iter().map(|s| s.status).collect();
            let status = watched.replayed.status;
            evolve(&mut watched.replayed, entry, record.at);
            self.arrows.note((status, &before), entry, &watched.replayed);
            self.look_for_rare(&watched.replayed, entry, &before);
        }
        watched.replayed.version = record.version;
        // As it was before: the same record may begin the next attempt.
        self.nothing_forgotten(&watched.model, record)?;
        watched.model.read(record, &self.made)?;
        watched.model.attempts_are_begun(&watched.replayed)
    }

    /// No instance's clock is further off than the world says, and nothing it does is dated later.
    fn dated_soundly(&self, record: &Record, at: Timestamp) -> Result<(), Violation> {
        let ahead_ms = record.at.as_millis() - at.as_millis();
        NEVER_EARLY.check(ahead_ms <= self.skew_max_ms, || {
            format!("version {} is dated {ahead_ms} ms ahead of the truth", record.version)
        })?;
        const YEAR_2000_MS: i64 = 946_684_800_000;
        MOMENTS_IN_RANGE.check(record.at.as_millis() >= YEAR_2000_MS, || format!("{}", record.at))
    }

    fn note_lease(&mut self, run: &Run, entry: &Entry) -> Result<(), Violation> {
        let (step, attempt, lease) = match entry {
            Entry::StepDispatched { step, attempt, lease, .. } => (*step, *attempt, *lease),
            Entry::PollDispatched { step, lease, .. } => {
                (*step, run.steps[step.position()].attempt, *lease)
            }
            _ => return Ok(()),
        };
        // A question of a poll that was lost is asked again under a new lease, in its place.
        let replaces = matches!(entry, Entry::PollDispatched { .. });
        let live = run.steps[step.position()].lease.is_some();
        ONE_LIVE_LEASE.check(!live || replaces, || format!("step {} has two", step.0))?;
        let before = self.leases.insert(lease, (run.id(), step, attempt));
        LEASES_NEVER_REUSED
            .check(before.is_none(), || format!("lease {lease} was {before:?} before"))
    }

    fn look_for_rare(&mut self, run: &Run, entry: &Entry, before: &[StepStatus]) {
        let under_way = |step: &StepIndex| {
            matches!(before[step.position()], StepStatus::Dispatched | StepStatus::Acked)
        };
        match entry {
            Entry::StepFailed { step, .. } | Entry::StepTimedOut { step, .. } => {
                let (state, spec) = (&run.steps[step.position()], run.spec(*step));
                if state.tries > 1 && state.tries == spec.retry.attempts_max {
                    self.saw(Probe::RetriesExhausted);
                }
                if state.error.as_ref().is_some_and(|error| error.code == "poll_timed_out") {
                    self.saw(Probe::PollGivenUp);
                }
            }
            Entry::StepCancelled { step } if under_way(step) => self.saw(Probe::CancelledUnderWay),
            Entry::StepCarried { .. } => self.saw(Probe::CarriedOn),
            Entry::RunSucceeded | Entry::RunFailed { .. } if run.header.parent.is_some() => {
                self.saw(Probe::Undone);
            }
            _ => {}
        }
    }
}

fn ended_stays(watched: &Watched, stored: &StoredRun) -> Result<(), Violation> {
    let Some(before) = watched.stored.as_ref().filter(|before| before.status.is_terminal()) else {
        return Ok(());
    };
    TERMINAL_STAYS.check(before == stored, || {
        format!(
            "run {} was {} and is {}",
            stored.header.id,
            before.status.word(),
            stored.status.word()
        )
    })
}

fn version_stays(header: &Header, stored: &StoredRun) -> Result<(), Violation> {
    let same = header.workflow.version == stored.workflow_version
        && header.workflow.name == stored.workflow;
    VERSION_STAYS.check(same, || {
        format!("run {} now follows version {}", header.id, stored.workflow_version)
    })
}

fn leases_sound(stored: &StoredRun) -> Result<(), Violation> {
    for (place, step) in stored.steps.iter().enumerate() {
        let sound = match step.status {
            StepStatus::Dispatched | StepStatus::Acked => step.lease.is_some(),
            StepStatus::Polling => true,
            _ => step.lease.is_none(),
        };
        LEASE_WHILE_UNDER_WAY.check(sound, || {
            format!("step {place} of {} is {}", stored.header.id, step.status.word())
        })?;
    }
    Ok(())
}

fn replay_rebuilds(watched: &Watched, stored: &StoredRun) -> Result<(), Violation> {
    let replayed = StoredRun::of(&watched.replayed);
    WHOLE_DECISIONS.check(replayed.version == stored.version, || {
        format!(
            "run {} is at version {}, its history at {}",
            stored.header.id, stored.version, replayed.version
        )
    })?;
    REPLAY_REBUILDS.check(replayed == *stored, || {
        format!("run {} at version {} is not the fold", stored.header.id, stored.version)
    })
}

fn no_marker_left(entry: &Entry) -> Result<(), Violation> {
    let Entry::StepDispatched { params, kind, .. } = entry else { return Ok(()) };
    let params = params.as_ref().map(|params| params.to_string());
    let kind = kind.as_deref().map(str::to_owned);
    let marked = params.into_iter().chain(kind).find(|text| text.contains("{{"));
    NO_MARKER_LEFT.check(marked.is_none(), || format!("a worker was given {marked:?}"))
}
