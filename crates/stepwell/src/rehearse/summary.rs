//! What a rehearsal came to: the timeline, the members, and how many workers it takes.
//!
//! Times are seconds from T-0, negative before it, so that a seed gives the same summary on any day.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use stepwell_core::batch::{Phase, PhaseStatus};
use stepwell_core::id::MemberId;
use stepwell_core::time::Timestamp;
use stepwell_dialects::runbooks::Runbook;

use super::ledger::{Effort, Job, Ledger};
use super::place::Section;
use super::pools::{PoolSummary, pools};
use super::stage::Played;

/// Members that are named as the slowest.
const SLOWEST: usize = 5;

/// What a rehearsal came to.
#[derive(Debug, Serialize)]
pub(super) struct Summary {
    pub(super) runbook: String,
    pub(super) seed: u64,
    /// T-0, if it was stated
    pub(super) batch_start_time: Option<String>,
    /// how the batch ended; `stuck` if it did not
    pub(super) status: &'static str,
    pub(super) began_s: i64,
    pub(super) ended_s: i64,
    pub(super) init: Option<InitSummary>,
    pub(super) phases: Vec<PhaseSummary>,
    pub(super) members: MembersSummary,
    #[serde(flatten)]
    pub(super) effort: EffortSummary,
    pub(super) slowest_members: Vec<SlowMember>,
    pub(super) pools: Vec<PoolSummary>,
}

/// What preparing the batch came to.
#[derive(Debug, Serialize)]
pub(super) struct InitSummary {
    pub(super) began_s: i64,
    pub(super) ended_s: i64,
    #[serde(flatten)]
    pub(super) effort: EffortSummary,
}

/// What a phase came to.
#[derive(Debug, Serialize)]
pub(super) struct PhaseSummary {
    pub(super) name: String,
    pub(super) offset: String,
    pub(super) status: &'static str,
    pub(super) due_s: i64,
    pub(super) began_s: Option<i64>,
    pub(super) ended_s: Option<i64>,
    /// when half of those who did all of it had done so
    pub(super) half_s: Option<i64>,
    pub(super) members: PhaseMembers,
    #[serde(flatten)]
    pub(super) effort: EffortSummary,
}

/// Where the members ended in a phase.
#[derive(Debug, Serialize)]
pub(super) struct PhaseMembers {
    pub(super) succeeded: i64,
    pub(super) failed: i64,
    pub(super) cancelled: i64,
    pub(super) skipped: i64,
    pub(super) open: i64,
}

/// Where the members ended.
#[derive(Debug, Serialize)]
pub(super) struct MembersSummary {
    pub(super) total: i64,
    pub(super) succeeded: i64,
    pub(super) failed: i64,
    pub(super) cancelled: i64,
    pub(super) open: i64,
    /// those for whom a rollback ran
    pub(super) rolled_back: usize,
}

/// How much was done.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct EffortSummary {
    pub(super) attempts: usize,
    pub(super) retries: usize,
    pub(super) polls: usize,
    pub(super) failures: usize,
}

/// A member that took long.
#[derive(Debug, Serialize)]
pub(super) struct SlowMember {
    pub(super) member_key: String,
    /// from the beginning of each phase until it was done with it, over all phases
    pub(super) took_s: i64,
    /// where it took longest
    pub(super) phase: String,
    pub(super) phase_took_s: i64,
}

impl From<Effort> for EffortSummary {
    fn from(effort: Effort) -> Self {
        let Effort { attempts, retries, polls, failures } = effort;
        Self { attempts, retries, polls, failures }
    }
}

/// What else the summary says.
pub(super) struct Told {
    pub(super) seed: u64,
    pub(super) start: Timestamp,
    /// T-0 was stated, and is not only an origin to count from
    pub(super) is_start_stated: bool,
}

impl Summary {
    pub(super) fn of(runbook: &Runbook, played: &Played, told: &Told) -> Self {
        let Played { batch, ledger, is_over } = played;
        let scale = Scale { start_ms: told.start.as_millis() };
        let jobs = &ledger.jobs;
        let last_ms = jobs.iter().map(|job| job.ended_ms).max();
        let ended_ms = batch.ended_at.map(Timestamp::as_millis).max(last_ms);
        let rolled_back: BTreeSet<Option<MemberId>> = jobs
            .iter()
            .filter(|job| matches!(job.place.section, Section::Rollback(_)))
            .map(|job| job.member)
            .collect();
        Self {
            runbook: runbook.name.clone(),
            seed: told.seed,
            batch_start_time: told.is_start_stated.then(|| told.start.to_string()),
            status: if *is_over { batch.status.word() } else { "stuck" },
            began_s: scale.seconds(batch.header.created_at.as_millis()),
            ended_s: scale.seconds(ended_ms.unwrap_or_else(|| batch.updated_at.as_millis())),
            init: init(jobs, scale),
            phases: (0..)
                .zip(&batch.phases)
                .map(|(index, phase)| phase_summary(index, phase, runbook, jobs, scale))
                .collect(),
            members: MembersSummary {
                total: batch.joined,
                succeeded: batch.tally.succeeded,
                failed: batch.tally.failed,
                cancelled: batch.tally.cancelled,
                open: batch.tally.open,
                rolled_back: rolled_back.len(),
            },
            effort: Effort::of(jobs).into(),
            slowest_members: slowest(&batch.phases, ledger),
            pools: pools(runbook, jobs, scale),
        }
    }
}

/// Moments as seconds from T-0.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    start_ms: i64,
}

impl Scale {
    pub(super) fn seconds(self, at_ms: i64) -> i64 {
        (at_ms - self.start_ms).div_euclid(1_000)
    }

    fn moment(self, at: Option<Timestamp>) -> Option<i64> {
        at.map(|at| self.seconds(at.as_millis()))
    }
}

fn init(jobs: &[Job], scale: Scale) -> Option<InitSummary> {
    let jobs: Vec<&Job> = jobs.iter().filter(|job| job.place.section == Section::Init).collect();
    let began_ms = jobs.iter().map(|job| job.begun_ms).min()?;
    let ended_ms = jobs.iter().map(|job| job.ended_ms).max()?;
    Some(InitSummary {
        began_s: scale.seconds(began_ms),
        ended_s: scale.seconds(ended_ms),
        effort: Effort::of(jobs).into(),
    })
}

fn phase_summary(
    index: usize,
    phase: &Phase,
    runbook: &Runbook,
    jobs: &[Job],
    scale: Scale,
) -> PhaseSummary {
    let spec = &runbook.phases[index];
    let done = finished(index, spec.steps.len(), jobs);
    PhaseSummary {
        name: phase.name.clone(),
        offset: spec.offset.to_string(),
        status: phase.status.word(),
        due_s: -i64::from(phase.offset_minutes) * 60,
        began_s: scale.moment(phase.dispatched_at),
        ended_s: scale.moment(phase.completed_at).filter(|_| phase.status != PhaseStatus::Skipped),
        half_s: done.get(done.len() / 2).map(|at_ms| scale.seconds(*at_ms)),
        members: PhaseMembers {
            succeeded: phase.tally.succeeded,
            failed: phase.tally.failed,
            cancelled: phase.tally.cancelled,
            skipped: phase.tally.skipped,
            open: phase.tally.open,
        },
        effort: Effort::of(jobs.iter().filter(|job| job.is_of(index))).into(),
    }
}

/// When members were done with a phase, earliest first.
pub(super) fn finished(phase: usize, steps: usize, jobs: &[Job]) -> Vec<i64> {
    let is_last = |job: &&Job| job.is_of(phase) && job.place.step + 1 == steps && job.is_done();
    let mut done: Vec<i64> = jobs.iter().filter(is_last).map(|job| job.ended_ms).collect();
    done.sort_unstable();
    done
}

/// The members that took longest, counted from when each phase began.
fn slowest(phases: &[Phase], ledger: &Ledger) -> Vec<SlowMember> {
    let mut ends: BTreeMap<MemberId, BTreeMap<usize, i64>> = BTreeMap::new();
    for job in &ledger.jobs {
        if let (Section::Phase(phase), Some(member)) = (job.place.section, job.member) {
            let end_ms = ends.entry(member).or_default().entry(phase).or_insert(job.ended_ms);
            *end_ms = job.ended_ms.max(*end_ms);
        }
    }
    let took = |phase: usize, end_ms: i64| {
        let begun = phases.get(phase).and_then(|phase| phase.dispatched_at);
        begun.map_or(0, |begun| (end_ms - begun.as_millis()).max(0))
    };
    let mut members: Vec<(i64, i64, usize, MemberId)> = ends
        .into_iter()
        .filter_map(|(member, ends)| {
            let lengths: Vec<(i64, usize)> =
                ends.into_iter().map(|(phase, end_ms)| (took(phase, end_ms), phase)).collect();
            let (longest_ms, phase) = *lengths.iter().max_by_key(|(length_ms, _)| *length_ms)?;
            Some((lengths.iter().map(|(length_ms, _)| length_ms).sum(), longest_ms, phase, member))
        })
        .collect();
    members.sort_by_key(|(total_ms, _, _, member)| (-total_ms, *member));
    members.truncate(SLOWEST);
    let named = members.into_iter().map(|(total_ms, longest_ms, phase, member)| SlowMember {
        member_key: ledger.keys.get(&member).cloned().unwrap_or_default(),
        took_s: total_ms / 1_000,
        phase: phases.get(phase).map(|phase| phase.name.clone()).unwrap_or_default(),
        phase_took_s: longest_ms / 1_000,
    });
    named.collect()
}
