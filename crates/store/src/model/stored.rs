//! A run as it is stored.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value};
use stepwell_core::credit::CreditState;
use stepwell_core::definition::{CancelMode, Part, Workflow};
use stepwell_core::expansion::Expansion;
use stepwell_core::id::{RunId, Tenant};
use stepwell_core::run::{Dialect, Header, Membership, Parent, Routing, Run, RunStatus};
use stepwell_core::step::StepError;
use stepwell_core::steps::Steps;
use stepwell_core::terms::Terms;
use stepwell_core::time::Timestamp;

use super::Epoch;

/// A run as it is stored: everything but the workflow itself, which the engine keeps compiled.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredRun {
    /// who may decide it, in a shared store; `None`: whoever writes it first
    pub owner: Option<Epoch>,
    /// name of its workflow
    pub workflow: String,
    /// version of its workflow
    pub workflow_version: u32,
    /// the part of the header that is stored with the run
    pub header: StoredHeader,
    /// decisions so far
    pub version: u64,
    /// where it stands
    pub status: RunStatus,
    /// attempts of the whole run
    pub attempt: u32,
    /// nothing new is dispatched
    pub paused: bool,
    /// how it is being stopped
    pub cancel: Option<CancelMode>,
    /// open gates
    pub gates_open: BTreeSet<String>,
    /// in order, items behind the workflow's own
    pub steps: Steps,
    /// the steps that were expanded, in the order in which it happened
    pub expansions: Vec<Expansion>,
    /// variables that results have set
    pub outputs: Map<String, Value>,
    /// when the next attempt of the whole run begins
    pub retry_at: Option<Timestamp>,
    /// what it has set aside and spent
    pub credits: Option<CreditState>,
    /// why it failed
    pub error: Option<StepError>,
    /// when it last changed
    pub updated_at: Timestamp,
    /// first recorded attempt
    pub started_at: Option<Timestamp>,
    /// when it ended
    pub ended_at: Option<Timestamp>,
}

/// The part of a run's header that is stored with the run.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredHeader {
    /// its id
    pub id: RunId,
    /// whom it belongs to
    pub tenant: Tenant,
    /// how it was asked for
    pub dialect: Dialect,
    /// which sequence it follows
    pub part: Part,
    /// what it undoes
    pub parent: Option<Parent>,
    /// the ended run it took over from
    pub resumes: Option<RunId>,
    /// what it was given
    pub input: Map<String, Value>,
    /// template variables that begin with `_`
    pub special: Map<String, Value>,
    /// what only its dialect understands
    pub context: Map<String, Value>,
    /// lane and key
    pub routing: Option<Routing>,
    /// 0 … 10
    pub priority: u8,
    /// ties it to what its requester knows
    pub correlation_id: Option<String>,
    /// W3C trace context
    pub traceparent: Option<String>,
    /// who asked
    pub actor: String,
    /// when
    pub created_at: Timestamp,
    /// the batch it belongs to
    pub membership: Option<Membership>,
    /// what it was granted beyond its workflow
    pub terms: Option<Arc<Terms>>,
}

impl StoredRun {
    /// What is stored of a run: all of it but the workflow.
    #[must_use]
    pub fn of(run: &Run) -> Self {
        let header = &run.header;
        let stored = StoredHeader {
            id: header.id,
            tenant: header.tenant.clone(),
            dialect: header.dialect,
            part: header.part.clone(),
            parent: header.parent.clone(),
            resumes: header.resumes,
            input: header.input.clone(),
            special: header.special.clone(),
            context: header.context.clone(),
            routing: header.routing.clone(),
            priority: header.priority,
            correlation_id: header.correlation_id.clone(),
            traceparent: header.traceparent.clone(),
            actor: header.actor.clone(),
            created_at: header.created_at,
            membership: header.membership,
            terms: header.terms.clone(),
        };
        Self {
            owner: None,
            workflow: header.workflow.name.clone(),
            workflow_version: header.workflow.version,
            header: stored,
            version: run.version,
            status: run.status,
            attempt: run.attempt,
            paused: run.paused,
            cancel: run.cancel,
            gates_open: run.gates_open.clone(),
            steps: run.steps.clone(),
            expansions: run.expansions.clone(),
            outputs: (*run.outputs).clone(),
            retry_at: run.retry_at,
            credits: run.credits,
            error: run.error.as_deref().cloned(),
            updated_at: run.updated_at,
            started_at: run.started_at,
            ended_at: run.ended_at,
        }
    }

    /// The run, with its workflow put back in.
    #[must_use]
    pub fn with_workflow(self, workflow: Arc<Workflow>) -> Run {
        let stored = self.header;
        let header = Header {
            id: stored.id,
            tenant: stored.tenant,
            dialect: stored.dialect,
            workflow,
            part: stored.part,
            parent: stored.parent,
            resumes: stored.resumes,
            input: stored.input,
            special: stored.special,
            context: stored.context,
            routing: stored.routing,
            priority: stored.priority,
            correlation_id: stored.correlation_id,
            traceparent: stored.traceparent,
            actor: stored.actor,
            created_at: stored.created_at,
            membership: stored.membership,
            terms: stored.terms,
        };
        Run {
            header: Arc::new(header),
            version: self.version,
            status: self.status,
            attempt: self.attempt,
            paused: self.paused,
            cancel: self.cancel,
            gates_open: self.gates_open,
            steps: self.steps,
            expansions: self.expansions,
            outputs: Arc::new(self.outputs),
            retry_at: self.retry_at,
            credits: self.credits,
            error: self.error.map(Arc::new),
            updated_at: self.updated_at,
            started_at: self.started_at,
            ended_at: self.ended_at,
        }
    }
}
