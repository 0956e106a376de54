//! What a person does to many members of a batch at once, with an answer for each.

use std::sync::Arc;

use serde_json::Value;
use sha2::{Digest, Sha256};
use stepwell_core::batch::Batch;
use stepwell_core::command::{Act, Carried, Command, Operation, StepRef};
use stepwell_core::definition::Part;
use stepwell_core::id::{BatchId, MemberId, RunId, StepIndex};
use stepwell_core::run::{Header, Parent, Run, RunStatus};
use stepwell_core::step::{Step, StepStatus};
use stepwell_dialects::runbooks::compile::of_step_id;
use stepwell_dialects::runbooks::status;
use stepwell_store::{Key, Member, MemberFilter, MemberStatus, Slice};

use super::error::BatchError;
use super::members;
use super::retake::{hindrance, retake};
use super::write;
use crate::error::EngineError;
use crate::intake::{Answered, Ask, Intake, Reply, Start};
use crate::shared::Shared;

/// Members looked at together.
const PAGE: usize = 512;

/// What a person wants done to many members.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchOrder {
    /// what
    pub operation: BatchOperation,
    /// to whom
    pub filter: OrderFilter,
    /// who and why
    pub by: Act,
    /// only say what would be done
    pub dry_run: bool,
    /// at most this many results
    pub limit: Option<usize>,
}

/// What is done to each.
#[derive(Clone, Debug, PartialEq)]
pub enum BatchOperation {
    /// a new attempt of a step that waits or is under way; for a member that failed, a new run that
    /// goes on where the old one failed
    Retry,
    /// pass the step over and go on
    Skip,
    /// take the step as done, with this result
    MarkDone {
        /// as a worker would have returned it
        result: Value,
    },
    /// undo: stop the member, and begin the rollback that its step names
    Rollback,
    /// stop the member's run
    Cancel,
    /// take the member out of the batch
    Remove,
}

/// To whom it is done. Empty fields do not restrict.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OrderFilter {
    /// these members
    pub members: Vec<MemberId>,
    /// members with these keys
    pub keys: Vec<String>,
    /// members that stand here
    pub member_statuses: Vec<MemberStatus>,
    /// only steps of this phase
    pub phase: Option<String>,
    /// only steps of this name
    pub step: Option<String>,
    /// only steps in one of these, in the words of the dialect
    pub step_statuses: Vec<String>,
}

/// What became of one item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchOrderResult {
    /// which member
    pub member: MemberId,
    /// what identifies it
    pub key: String,
    /// which run of it
    pub run: RunId,
    /// which step, if one is meant
    pub step: Option<StepIndex>,
    /// what became of it
    pub outcome: OrderOutcome,
}

/// What became of one item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OrderOutcome {
    /// it is done
    Done,
    /// it would be done
    Would,
    /// no
    Refused {
        /// a stable word
        code: String,
        /// why, and what to do
        message: String,
    },
}

impl OrderOutcome {
    pub(super) fn refused(code: &str, message: impl Into<String>) -> Self {
        Self::Refused { code: code.to_owned(), message: message.into() }
    }
}

/// An item on its way.
pub(super) struct Matched {
    pub(super) member: Member,
    pub(super) run: Arc<Run>,
    step: Option<StepIndex>,
}

pub(super) async fn order(
    shared: &Shared,
    intake: &Intake,
    id: BatchId,
    order: &BatchOrder,
) -> Result<Vec<BatchOrderResult>, BatchError> {
    let mut results = Vec::new();
    let mut after = None;
    let limit = order.limit.unwrap_or(usize::MAX);
    loop {
        let filter = MemberFilter {
            statuses: order.filter.member_statuses.clone(),
            keys: order.filter.keys.clone(),
            ids: order.filter.members.clone(),
            after,
            ..MemberFilter::of(id)
        };
        let page = shared.store.members(filter, Slice { offset: 0, limit: PAGE }).await?.items;
        let Some(last) = page.last().map(|member| member.id) else { return Ok(results) };
        let is_last = page.len() < PAGE;
        after = Some(last);
        let mut matched = matching(shared, &order.filter, &order.operation, page).await?;
        matched.truncate(limit - results.len());
        results.extend(carry_out(shared, intake, id, order, matched).await?);
        if is_last || results.len() >= limit {
            return Ok(results);
        }
    }
}

/// The items of a page that the order means: one for each member, or one for each step if the order
/// names steps.
async fn matching(
    shared: &Shared,
    filter: &OrderFilter,
    operation: &BatchOperation,
    page: Vec<Member>,
) -> Result<Vec<Matched>, BatchError> {
    let runs = shared.runs(page.iter().map(|member| member.run).collect()).await?;
    let whole_member = matches!(operation, BatchOperation::Cancel | BatchOperation::Remove);
    let names_steps =
        filter.phase.is_some() || filter.step.is_some() || !filter.step_statuses.is_empty();
    let mut matched = Vec::new();
    for member in page {
        let Some(run) = runs.get(&member.run) else { continue };
        let means = |(index, step): &(StepIndex, &Step)| filter.means(run, *index, step);
        let steps: Vec<StepIndex> = run.own_steps().filter(means).map(|(index, _)| index).collect();
        if whole_member {
            if !names_steps || !steps.is_empty() {
                matched.push(Matched { member, run: Arc::clone(run), step: None });
            }
        } else if names_steps {
            let of = |step| Matched { member: member.clone(), run: Arc::clone(run), step };
            matched.extend(steps.into_iter().map(|step| of(Some(step))));
        } else {
            let step = run.current_step().filter(|step| is_actionable(run, *step));
            matched.push(Matched { member, run: Arc::clone(run), step });
        }
    }
    Ok(matched)
}

/// The step that an order without steps means: what is under way, or what failed.
fn is_actionable(run: &Run, step: StepIndex) -> bool {
    match run.steps[step.position()].status {
        StepStatus::Failed | StepStatus::TimedOut => true,
        status => !status.is_terminal(),
    }
}

impl OrderFilter {
    fn means(&self, run: &Run, index: StepIndex, step: &Step) -> bool {
        let spec = run.spec(index);
        let (phase, name) = of_step_id(&spec.id)
            .map_or((None, spec.id.as_str()), |(phase, name)| (Some(phase), name));
        let word = status::step(step.status);
        self.phase.as_deref().is_none_or(|wanted| phase == Some(wanted))
            && self.step.as_deref().is_none_or(|wanted| name == wanted)
            && (self.step_statuses.is_empty() || self.step_statuses.iter().any(|it| it == word))
    }
}

async fn carry_out(
    shared: &Shared,
    intake: &Intake,
    id: BatchId,
    order: &BatchOrder,
    matched: Vec<Matched>,
) -> Result<Vec<BatchOrderResult>, BatchError> {
    let batch = write::load(shared, id).await?;
    let mut outcomes: Vec<Option<OrderOutcome>> = vec![None; matched.len()];
    let mut page = PageOfWays::default();
    for (place, item) in matched.iter().enumerate() {
        match way(&batch, order, item) {
            Ok(_) if order.dry_run => outcomes[place] = Some(OrderOutcome::Would),
            Ok(way) => page.take(shared, order, place, item, way),
            Err(refused) => outcomes[place] = Some(refused),
        }
    }
    let PageOfWays { stops, asked, asks, retaken, removed } = page;
    must_stop(intake, stops).await?;
    for (place, answer) in asked.into_iter().zip(intake.ask_patiently(asks).await?) {
        outcomes[place] = Some(outcome_of(answer)?);
    }
    let leaving: Vec<MemberId> = removed.iter().map(|place| matched[*place].member.id).collect();
    members::remove(shared, intake, id, &leaving, &order.by).await?;
    for place in removed {
        outcomes[place] = Some(OrderOutcome::Done);
    }
    for (place, outcome) in retake(shared, intake, id, order, &matched, retaken).await? {
        outcomes[place] = Some(outcome);
    }
    let results = matched.into_iter().zip(outcomes).map(|(item, outcome)| BatchOrderResult {
        member: item.member.id,
        key: item.member.key,
        run: item.run.id(),
        step: item.step,
        outcome: outcome.unwrap_or_else(|| {
            OrderOutcome::refused("not_done", "the batch kept changing; try again")
        }),
    });
    Ok(results.collect())
}

/// What is done for the items of a page, each kind at once; items by their places.
#[derive(Default)]
struct PageOfWays {
    /// before anything else
    stops: Vec<Ask>,
    asked: Vec<usize>,
    asks: Vec<Ask>,
    retaken: Vec<(usize, Vec<Carried>)>,
    removed: Vec<usize>,
}

impl PageOfWays {
    fn take(
        &mut self,
        shared: &Shared,
        order: &BatchOrder,
        place: usize,
        item: &Matched,
        way: Way,
    ) {
        match way {
            Way::Ask(command) => self.ask(place, Ask::command(item.run.id(), command)),
            Way::Retake(carried) => self.retaken.push((place, carried)),
            Way::Rollback(step) => {
                if !item.run.status.is_terminal() {
                    let stop = Command::Cancel { mode: None, by: order.by.clone() };
                    self.stops.push(Ask::command(item.run.id(), stop));
                }
                self.ask(place, rollback(shared, item, step, &order.by));
            }
            Way::Remove => self.removed.push(place),
        }
    }

    fn ask(&mut self, place: usize, ask: Ask) {
        self.asked.push(place);
        self.asks.push(ask);
    }
}

/// What the run, or the engine, has answered.
fn outcome_of(answer: Answered) -> Result<OrderOutcome, BatchError> {
    match answer {
        Ok(Reply::Repeated(_)) => {
            let message = "the rollback of this step was begun before";
            Ok(OrderOutcome::refused("rollback_begun", message))
        }
        Ok(Reply::Started(_) | Reply::Applied(_) | Reply::Stored(_)) => Ok(OrderOutcome::Done),
        Err(EngineError::Refused(refusal)) => {
            Ok(OrderOutcome::refused(refusal.code(), refusal.to_string()))
        }
        Err(error) => Err(error.into()),
    }
}

/// How an item is done.
enum Way {
    /// its run is asked
    Ask(Command),
    /// a new run takes it up again
    Retake(Vec<Carried>),
    /// a rollback begins
    Rollback(StepIndex),
    /// it leaves
    Remove,
}

/// How an item is done, or why not.
fn way(batch: &Batch, order: &BatchOrder, item: &Matched) -> Result<Way, OrderOutcome> {
    if item.member.removed_at.is_some() {
        return Err(OrderOutcome::refused("member_removed", "the member has left the batch"));
    }
    let run = &item.run;
    match &order.operation {
        BatchOperation::Cancel if run.status.is_terminal() => {
            let message = format!("the member's run has ended as {}", run.status.word());
            Err(OrderOutcome::refused("run_ended", message))
        }
        BatchOperation::Cancel => {
            Ok(Way::Ask(Command::Cancel { mode: None, by: order.by.clone() }))
        }
        BatchOperation::Remove => match members::must_be_manual(batch) {
            Err(error) => Err(OrderOutcome::refused("batch_automated", error.to_string())),
            Ok(()) if run.status == RunStatus::Failed => {
                let error = BatchError::MemberFailed(item.member.id);
                Err(OrderOutcome::refused("member_failed", error.to_string()))
            }
            Ok(()) => Ok(Way::Remove),
        },
        BatchOperation::Rollback => rollback_step(item).map(Way::Rollback),
        BatchOperation::Retry => by_step(batch, item, Operation::Retry, order),
        BatchOperation::Skip => by_step(batch, item, Operation::Skip, order),
        BatchOperation::MarkDone { result } => {
            let operation = Operation::MarkSucceeded { result: result.clone() };
            by_step(batch, item, operation, order)
        }
    }
}

fn by_step(
    batch: &Batch,
    item: &Matched,
    operation: Operation,
    order: &BatchOrder,
) -> Result<Way, OrderOutcome> {
    let Some(step) = item.step else {
        return Err(OrderOutcome::refused("no_step", "no step of the member is under way"));
    };
    if !item.run.status.is_terminal() {
        let by = order.by.clone();
        let step = StepRef::Index(step);
        return Ok(Way::Ask(Command::Operate { step, operation, by }));
    }
    if item.run.status != RunStatus::Failed {
        let message = format!("the member's run has ended as {}", item.run.status.word());
        return Err(OrderOutcome::refused("run_ended", message));
    }
    if let Some(hindrance) = hindrance(batch) {
        return Err(hindrance);
    }
    let failed =
        matches!(item.run.steps[step.position()].status, StepStatus::Failed | StepStatus::TimedOut);
    if !failed {
        let message = "the member failed at another step; name that one";
        return Err(OrderOutcome::refused("step_not_failed", message));
    }
    Ok(Way::Retake(match operation {
        Operation::Retry => Vec::new(),
        Operation::Skip => vec![Carried::Step { step, result: Value::Null }],
        Operation::MarkSucceeded { result } => vec![Carried::Step { step, result }],
    }))
}

/// The step whose rollback is meant: the one that was named, or that failed.
fn rollback_step(item: &Matched) -> Result<StepIndex, OrderOutcome> {
    let Some(step) = item.step else {
        return Err(OrderOutcome::refused("no_step", "name the step whose rollback is to run"));
    };
    if item.run.spec(step).on_failure.is_none() {
        return Err(OrderOutcome::refused("no_rollback", "the step names no rollback"));
    }
    if item.run.steps[step.position()].compensation.is_some() {
        let message = "the rollback of this step was begun when it failed";
        return Err(OrderOutcome::refused("rollback_begun", message));
    }
    Ok(step)
}

/// What has ended meanwhile need not be stopped.
async fn must_stop(intake: &Intake, stops: Vec<Ask>) -> Result<(), BatchError> {
    if stops.is_empty() {
        return Ok(());
    }
    for answer in intake.ask_patiently(stops).await? {
        match answer {
            Ok(_) | Err(EngineError::Refused(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// The run that undoes a step because a person wants it.
fn rollback(shared: &Shared, item: &Matched, step: StepIndex, by: &Act) -> Ask {
    let name = item.run.spec(step).on_failure.clone().unwrap_or_default();
    let header = Header {
        id: RunId(shared.fresh_id()),
        part: Part::Compensation(name),
        parent: Some(Parent { run: item.run.id(), step }),
        input: item.run.input_and_outputs(),
        actor: by.actor.clone(),
        created_at: shared.now(),
        ..Header::clone(&item.run.header)
    };
    // What is asked twice is undone once.
    let name = format!("rollback of step {} of run {}", step.0, item.run.id());
    let hash: [u8; 32] = Sha256::digest(name).into();
    let key = Some(Key { hash, request_hash: hash });
    let (carried, tenant_cap) = (Vec::new(), None);
    Ask::Start(Box::new(Start { header: Arc::new(header), carried, key, tenant_cap }))
}
