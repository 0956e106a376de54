//! One world, from its first moment to its last: a time of trouble, then a time of quiet in which
//! everything must come to its end.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc, Once};

use stepwell_connectors::clock::Clock;
use stepwell_core::id::{RunId, Tenant};
use stepwell_core::run::RunStatus;
use stepwell_core::time::Timestamp;
use stepwell_store::{
    BatchFilter, DeadLetterFilter, Epoch, Filter, MemberFilter, Page, Slice, Store,
};

use crate::accounts::Accountant;
use crate::clients::Client;
use crate::clock::{NOON_MS, at_noon};
use crate::door::Door;
use crate::faults::Kind;
use crate::followers::Follower;
use crate::instances::Instances;
use crate::leads::Leads;
use crate::operators::Operators;
use crate::oracle::rules::{NO_INPUT_LEFT, WHOLE_DECISIONS, WORLD_ENDS};
use crate::oracle::{Arrows, BatchSeen, Probe, Violation};
use crate::plan::{Options, Plan};
use crate::planners::Planner;
use crate::shared::Shared;
use crate::workers::Worker;
use crate::workload::POOLS;

/// How long the quiet may last: longer than every wait of a drawn workflow, one after the other.
const QUIET_MAX_MS: u64 = 6 * 3_600_000;

/// How long a world may last after its faults have ended, whatever it is that it waits for.
const AFTERWARDS_MAX_MS: u64 = 24 * 3_600_000;

/// How often somebody looks whether a rule was broken.
const GLANCE_MS: u64 = 10_000;

/// What came of a world.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// the rule that was broken
    pub violation: Option<Violation>,
    /// how long it lasted, in its own time
    pub simulated_ms: u64,
    /// events in its log
    pub events: u64,
    /// groups that were written
    pub commits: u64,
    /// runs that were created
    pub runs: usize,
    /// batches that were made
    pub batches: usize,
    /// members that ever joined them
    pub members: usize,
    /// how often a rule was asked
    pub checks: u64,
    /// faults by kind
    pub faults: BTreeMap<Kind, u64>,
    /// arrows taken
    pub arrows: Arrows,
    /// rare places reached
    pub probes: BTreeMap<Probe, u64>,
    /// differs when anything happened differently
    pub hash: u64,
    /// the log, if it was kept
    pub trace: Vec<String>,
}

/// Lives through the world of a seed.
///
/// # Panics
/// When no runtime can be built.
#[must_use]
pub fn run(options: &Options) -> Outcome {
    listen_for_panics();
    let clock = at_noon();
    let sleeping = Arc::clone(&clock);
    let runtime = tokio::runtime::Builder::new_current_thread()
        // Only when nobody has anything to do does time pass.
        .on_thread_park(move || sleeping.advance())
        .build()
        .expect("a runtime without drivers can be built");
    let shared = Shared::new(Plan::draw(options), clock, options.trace);
    runtime.block_on(async {
        tokio::select! {
            biased;
            () = broken(&shared) => {}
            () = live(&shared) => {}
        }
    });
    for message in PANICS.with_borrow_mut(std::mem::take) {
        shared.oracle().panicked(&message);
    }
    drop(runtime);
    outcome(&shared)
}

fn outcome(shared: &Shared) -> Outcome {
    let oracle = shared.oracle();
    let (batches, members) = oracle.batches_and_members();
    let simulated_ms = u64::try_from(shared.clock.now_ms() - NOON_MS).unwrap_or(0);
    Outcome {
        violation: oracle.violation().cloned(),
        simulated_ms,
        events: shared.trace.events(),
        commits: oracle.commits(),
        runs: oracle.run_ids().len(),
        batches,
        members,
        checks: oracle.checks,
        faults: shared.faults.counts(),
        arrows: oracle.arrows.clone(),
        probes: oracle.probes.clone(),
        hash: shared.trace.hash(),
        trace: shared.trace.lines(),
    }
}

async fn live(shared: &Arc<Shared>) {
    let door = Door::new(Arc::clone(shared));
    let mut instances = Instances::new(Arc::clone(shared), Arc::clone(&door));
    instances.start_all().await;
    let mut operators = Operators::new(Arc::clone(shared), Arc::clone(&door));
    prepare(shared, &door, &mut operators, &mut instances).await;
    let mut quiet_operators = Operators::new(Arc::clone(shared), Arc::clone(&door));
    let leads = Leads::new(Arc::clone(shared), Arc::clone(&door));
    if shared.plan.batches > 0 {
        tokio::spawn(leads.lead());
    }
    if shared.plan.workspaces {
        let accountant = Accountant { shared: Arc::clone(shared), door: Arc::clone(&door) };
        tokio::spawn(accountant.work());
        let follower = Follower { shared: Arc::clone(shared), door: Arc::clone(&door) };
        tokio::spawn(follower.follow());
    }
    if shared.plan.triggers {
        tokio::spawn(Planner::new(Arc::clone(shared), Arc::clone(&door)).work());
    }
    let mut quiet_leads = Leads::new(Arc::clone(shared), Arc::clone(&door));
    for number in 0..shared.plan.jobs {
        let client = Client { shared: Arc::clone(shared), door: Arc::clone(&door), number };
        tokio::spawn(client.run());
    }
    for number in 0..POOLS.len() * shared.plan.workers {
        let pool = POOLS[number % POOLS.len()];
        let (name, number) = (format!("{pool}-{number}"), number as u64);
        let (shared, door) = (Arc::clone(shared), Arc::clone(&door));
        tokio::spawn(Worker { shared, door, pool, name, number }.work());
    }
    tokio::spawn(operators.interfere());
    let troubled = tokio::spawn(instances.trouble());
    shared.clock.sleep_ms(shared.plan.chaos_ms).await;
    shared.faults.end();
    shared.note("world", "faults end");
    let Ok(mut instances) = troubled.await else { return };
    door.kill_all();
    instances.start_all().await;
    if shared.plan.instances > 1 {
        // What the dead owned is taken over first.
        shared.clock.sleep_ms(shared.plan.ownership.silence.as_millis() + 60_000).await;
    }
    shared.oracle().quiet_from(shared.now());
    if shared.plan.triggers {
        Planner::new(Arc::clone(shared), Arc::clone(&door)).finish().await;
    }
    quiet(shared, &door, &mut quiet_operators, &mut quiet_leads).await;
}

/// Publishes what is needed before anybody comes; whoever dies meanwhile is replaced.
async fn prepare(
    shared: &Shared,
    door: &Door,
    operators: &mut Operators,
    instances: &mut Instances,
) {
    let mut prepared = std::pin::pin!(operators.prepare());
    loop {
        tokio::select! {
            biased;
            () = &mut prepared => return,
            () = shared.died.notified() => {
                door.bury();
                instances.start().await;
            }
        }
    }
}

/// Resolves when a rule is broken: what follows is rubble.
async fn broken(shared: &Shared) {
    let end_ms = NOON_MS.saturating_add_unsigned(shared.plan.chaos_ms + AFTERWARDS_MAX_MS);
    while shared.oracle().violation().is_none() {
        shared.clock.sleep_ms(GLANCE_MS).await;
        let overdue = shared.clock.now_ms() > end_ms;
        shared.oracle().judge(WORLD_ENDS.check(!overdue, || "somebody waits for ever".to_owned()));
    }
}

async fn quiet(shared: &Arc<Shared>, door: &Door, operators: &mut Operators, leads: &mut Leads) {
    let end_ms = shared.clock.now_ms().saturating_add_unsigned(QUIET_MAX_MS);
    while shared.clock.now_ms() < end_ms {
        operators.release().await;
        leads.release().await;
        shared.clock.sleep_ms(60_000).await;
        let oracle = shared.oracle();
        if oracle.unfinished().is_empty() && oracle.batches_under_way().is_empty() {
            break;
        }
    }
    shared.oracle().all_have_ended();
    look_at_batches(shared).await;
    // Attempts of paused runs may still be with workers.
    shared.clock.sleep_ms(20 * 60_000).await;
    for instance in door.living() {
        if let Ok(depths) = instance.engine.bus().depth().await {
            shared.oracle().bus_is_empty(&depths);
        }
    }
    let newest = shared.oracle().newest_epoch();
    for epoch in 0..=newest {
        let left = shared.memory.inputs(Epoch(epoch), 1).await.unwrap_or_default();
        let verdict = NO_INPUT_LEFT.check(left.is_empty(), || format!("{left:?} is left"));
        shared.oracle().judge(verdict);
    }
    Follower::finish(shared).await;
    look_over_everything(shared).await;
}

/// Batches as they are by now: what follows a member's leaving is noted without a decision.
async fn look_at_batches(shared: &Shared) {
    let all = Slice { offset: 0, limit: usize::MAX };
    let found = shared.memory.batches(BatchFilter::default(), all).await;
    for batch in found.map(|found| found.items).unwrap_or_default() {
        let filter = MemberFilter::of(batch.id());
        let members = shared.memory.members(filter, all).await;
        let members = members.map(|members| members.items).unwrap_or_default();
        let seen = BatchSeen { batch, members, events: Vec::new() };
        shared.oracle().looked_at(&seen, shared.now());
    }
    shared.oracle().batches_rest(shared.now());
}

/// The last look: at everything that was promised, listed, counted and given up.
async fn look_over_everything(shared: &Shared) {
    let promises = shared.oracle().promises();
    for promise in promises {
        let stored = shared.memory.load(vec![promise.run]).await.unwrap_or_default().pop();
        shared.oracle().kept(&promise, stored.as_ref());
    }
    for tenant in &shared.plan.tenants {
        let tenant = Tenant::new(tenant);
        let filter = Filter { tenant: Some(tenant.clone()), ..Filter::default() };
        let page = Page { before: None, limit: usize::MAX };
        let listed = shared.memory.runs(filter, page).await.unwrap_or_default();
        shared.oracle().listed(&tenant, &listed);
    }
    if let Ok(figures) = shared.memory.figures().await {
        shared.oracle().figured(figures.runs_open);
    }
    let far = Timestamp::from_millis(i64::MAX);
    let mut found = Vec::new();
    let newest = shared.oracle().newest_epoch();
    for epoch in 0..=newest {
        let due = shared.memory.due(Epoch(epoch), far, usize::MAX).await.unwrap_or_default();
        found.extend(due.runs);
    }
    shared.oracle().found_by_moment(far, &found);
    let runs = shared.oracle().run_ids();
    for run in runs {
        failed_has_dead_letter(shared, run).await;
        let reports = shared.memory.stale_reports(run).await.unwrap_or_default();
        shared.oracle().recorded(run, reports.len());
    }
}

async fn failed_has_dead_letter(shared: &Shared, run: RunId) {
    let failed = {
        let oracle = shared.oracle();
        oracle.run(run).is_some_and(|run| run.status == RunStatus::Failed)
    };
    let filter = DeadLetterFilter { run: Some(run), with_settled: true, ..Default::default() };
    let letters = shared.memory.dead_letters(filter).await.unwrap_or_default();
    let verdict = WHOLE_DECISIONS.check(failed == (letters.len() == 1), || {
        format!("run {run} has {} dead letters", letters.len())
    });
    shared.oracle().judge(verdict);
}

thread_local! {
    /// What panicked on this thread; a world has its thread to itself.
    static PANICS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// The engine survives a panic in a task or a decision; a world must not overlook it.
fn listen_for_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            PANICS.with_borrow_mut(|panics| panics.push(panic.to_string()));
            usual(panic);
        }));
    });
}
