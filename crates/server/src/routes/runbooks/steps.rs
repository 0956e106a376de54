//! The steps of a batch: those that prepare it, then member by member.
//!
//! A page goes from member to member and stops when it is full, or when it has looked at enough of
//! them: a filter that finds nothing must not read a whole batch. So a page may be short or empty and
//! still have a `next`.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use stepwell_core::batch::Batch;
use stepwell_core::id::{MemberId, RunId};
use stepwell_core::run::{BatchRole, Run};
use stepwell_dialects::problem::quoted;
use stepwell_dialects::runbooks::Runbook;
use stepwell_dialects::runbooks::message::StepExecutionId;
use stepwell_dialects::runbooks::status::STEP_WORDS;
use stepwell_dialects::runbooks::view::{self, Compensations, Known, StepView};
use stepwell_engine::{BatchError, CompiledRunbook};
use stepwell_store::{BatchRun, Member, MemberFilter, MemberStatus, Slice};

use super::{BatchPath, find};
use crate::auth::Caller;
use crate::error::ApiError;
use crate::extract::{Parameters, Query};
use crate::schema;
use crate::state::Api;

const LIMIT_DEFAULT: usize = 50;
const LIMIT_MAX: usize = 200;

/// Members that are read at once.
const MEMBERS_AT_ONCE: usize = 50;

/// Members that one request looks at, however few of their steps it shows.
const MEMBERS_MAX: usize = 500;

#[derive(Serialize)]
struct Steps {
    items: Vec<Box<RawValue>>,
    /// the `after` of the next page
    next: Option<StepExecutionId>,
}

/// List the steps of a batch
///
/// Those that prepare it first (`is_init`), then member by member, in order. Go on with `next` as
/// `after` for as long as there is one: with a filter a page may be short, or empty, and not the last.
#[utoipa::path(
    get, path = "/api/batches/{batch}/steps", tag = "batches", operation_id = "listBatchSteps",
    params(schema::BatchPath, schema::StepQuery),
    responses((status = 200, description = "A page of steps", body = schema::BatchStepPage)),
)]
pub(super) async fn list(
    State(api): State<Api>,
    caller: Caller,
    BatchPath(id): BatchPath,
    query: Query,
) -> Result<Response, ApiError> {
    let names = ["member_id", "phase", "status", "init", "after", "limit"];
    let wanted = Wanted::read(&query.known(&names)?)?;
    let batch = find(&api, &caller, id).await?;
    let after = place(&api, &batch, wanted.after).await?;
    let runbooks = runbooks(&api, &batch).await?;
    let mut walk = Walk { api, batch, runbooks, wanted, after, items: Vec::new(), next: None };
    walk.init().await?;
    walk.members().await?;
    let (items, next) = (walk.items, walk.next);
    tracing::info!(batch_id = id.0, steps = items.len(), "member_data_read");
    Ok(Json(Steps { items, next }).into_response())
}

/// Which steps are asked for.
struct Wanted {
    member: Option<MemberId>,
    phase: Option<String>,
    statuses: Vec<&'static str>,
    init: Option<bool>,
    after: Option<StepExecutionId>,
    limit: usize,
}

impl Wanted {
    fn read(parameters: &Parameters) -> Result<Self, ApiError> {
        let after = |text: &str| StepExecutionId::try_from(text.parse::<i64>().ok()?).ok();
        Ok(Self {
            member: parameters
                .read("member_id", "the id of a member", |text| text.parse().ok().map(MemberId))?,
            phase: parameters.one("phase")?.map(str::to_owned),
            statuses: parameters.all("status").map(word).collect::<Result<_, _>>()?,
            init: parameters.read("init", "true or false", |text| text.parse().ok())?,
            after: parameters.read("after", "the next of the page before", after)?,
            limit: parameters.limit(LIMIT_DEFAULT, LIMIT_MAX)?,
        })
    }

    fn means(&self, step: &StepView<'_>) -> bool {
        let phase = self.phase.as_deref().is_none_or(|wanted| step.phase_name == Some(wanted));
        phase && (self.statuses.is_empty() || self.statuses.contains(&step.status))
    }

    /// Only members that failed have steps that did, and there are few of them.
    fn member_statuses(&self) -> Vec<MemberStatus> {
        let is_failure = |word: &&str| matches!(*word, "failed" | "poll_timeout");
        if !self.statuses.is_empty() && self.statuses.iter().all(is_failure) {
            return vec![MemberStatus::Failed];
        }
        Vec::new()
    }
}

fn word(given: &str) -> Result<&'static str, ApiError> {
    STEP_WORDS.into_iter().find(|word| *word == given).ok_or_else(|| {
        let message =
            format!("{} is no status; there are {}", quoted(given), STEP_WORDS.join(", "));
        ApiError::parameter("status", message)
    })
}

/// Where the page before ended.
struct Place {
    id: StepExecutionId,
    run: BatchRun,
}

async fn place(
    api: &Api,
    batch: &Batch,
    after: Option<StepExecutionId>,
) -> Result<Option<Place>, ApiError> {
    let Some(id) = after else { return Ok(None) };
    let (number, _) = id.parts();
    let run = api.engine().store().numbered_run(number).await?;
    match run.filter(|run| run.batch == batch.id()) {
        Some(run) => Ok(Some(Place { id, run })),
        None => Err(ApiError::parameter("after", "the batch has no such step")),
    }
}

/// The runbook in every version that the batch has followed.
async fn runbooks(
    api: &Api,
    batch: &Batch,
) -> Result<BTreeMap<u32, Arc<CompiledRunbook>>, ApiError> {
    let mut found = BTreeMap::new();
    let versions = batch.phases.iter().map(|phase| phase.version);
    for version in versions.chain([batch.runbook_version]) {
        if found.contains_key(&version) {
            continue;
        }
        match api.engine().compiled_runbook(&batch.header.runbook, Some(version)).await {
            Ok(runbook) => drop(found.insert(version, runbook)),
            Err(BatchError::RunbookNotFound { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(found)
}

/// A page on its way.
struct Walk {
    api: Api,
    batch: Batch,
    runbooks: BTreeMap<u32, Arc<CompiledRunbook>>,
    wanted: Wanted,
    after: Option<Place>,
    items: Vec<Box<RawValue>>,
    next: Option<StepExecutionId>,
}

impl Walk {
    /// The steps that prepare the batch, unless the page begins behind them.
    async fn init(&mut self) -> Result<(), ApiError> {
        let is_behind = self.after.as_ref().is_some_and(|after| after.run.role != BatchRole::Init);
        if is_behind || self.wanted.init == Some(false) || self.wanted.member.is_some() {
            return Ok(());
        }
        let (id, role) = (self.batch.id(), Some(BatchRole::Init));
        let found = self.api.engine().store().batch_runs(id, role, None).await?;
        let from = self.after.as_ref().map(|after| after.run.number);
        let found = found.iter().filter(|run| from.is_none_or(|from| run.number >= from));
        let runs: Vec<RunId> = found.map(|run| run.run).collect();
        let loaded = self.load(runs.clone()).await?;
        for run in runs.iter().filter_map(|run| loaded.runs.get(run)) {
            if !self.show(run, None, &loaded.compensations)? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// The steps of members, until the page is full or enough members were looked at.
    async fn members(&mut self) -> Result<(), ApiError> {
        if self.is_full() || self.wanted.init == Some(true) {
            return Ok(());
        }
        let resumed = self.after.as_ref().and_then(|after| after.run.member);
        // The member at which the page before ended may have more.
        let mut after = resumed.map(|member| MemberId(member.0 - 1));
        for _ in 0..MEMBERS_MAX / MEMBERS_AT_ONCE {
            let filter = MemberFilter {
                statuses: self.wanted.member_statuses(),
                ids: self.wanted.member.into_iter().collect(),
                after,
                ..MemberFilter::of(self.batch.id())
            };
            let slice = Slice { offset: 0, limit: MEMBERS_AT_ONCE };
            let page = self.api.engine().store().members(filter, slice).await?.items;
            if !self.show_members(&page).await? {
                return Ok(());
            }
            if page.len() < MEMBERS_AT_ONCE {
                self.next = None;
                return Ok(());
            }
            after = page.last().map(|member| member.id);
        }
        Ok(())
    }

    /// Shows the steps of these members; `false` once the page is full.
    async fn show_members(&mut self, members: &[Member]) -> Result<bool, ApiError> {
        let loaded = self.load(members.iter().map(|member| member.run).collect()).await?;
        for member in members {
            let Some(run) = loaded.runs.get(&member.run) else { continue };
            if !self.show(run, Some(member), &loaded.compensations)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Shows the steps of a run that come after the page before; `false` once the page is full.
    fn show(
        &mut self,
        run: &Run,
        member: Option<&Member>,
        compensations: &Compensations,
    ) -> Result<bool, ApiError> {
        let runbooks: BTreeMap<u32, &Runbook> =
            self.runbooks.iter().map(|(version, it)| (*version, &it.runbook)).collect();
        let known = Known { batch: &self.batch, runbooks: &runbooks, compensations };
        for step in view::steps(run, member.map(|member| member.key.as_str()), known) {
            if self.after.as_ref().is_some_and(|after| after.is_behind(step.id, member)) {
                continue;
            }
            self.next = Some(step.id);
            if !self.wanted.means(&step) {
                continue;
            }
            let shown = to_raw_value(&step);
            self.items.push(shown.map_err(|error| ApiError::internal(&error.to_string()))?);
            if self.is_full() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn is_full(&self) -> bool {
        self.items.len() >= self.wanted.limit
    }

    async fn load(&self, ids: Vec<RunId>) -> Result<Loaded, ApiError> {
        let engine = self.api.engine();
        let runs: BTreeMap<RunId, Arc<Run>> = engine.runs(ids).await?.into_iter().collect();
        let steps = runs.values().flat_map(|run| run.steps.iter());
        let undoing: Vec<RunId> = steps.filter_map(|step| step.compensation).collect();
        let undone = engine.runs(undoing).await?;
        let compensations = undone.into_iter().map(|(id, run)| (id, run.status)).collect();
        Ok(Loaded { runs, compensations })
    }
}

/// Runs, and what became of those that undo their steps.
struct Loaded {
    runs: BTreeMap<RunId, Arc<Run>>,
    compensations: Compensations,
}

impl Place {
    /// The step was on a page before this one. If its member has a new run since, all of them were.
    fn is_behind(&self, step: StepExecutionId, member: Option<&Member>) -> bool {
        let same_run = self.id.parts().0 == step.parts().0;
        let same_member = member.is_some_and(|member| self.run.member == Some(member.id));
        if same_run { step <= self.id } else { same_member }
    }
}
