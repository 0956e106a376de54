//! What a worker is given: the directive of one attempt, with the URLs that only this attempt can use.

use axum::Json;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use stepwell_core::command::Fence;
use stepwell_core::effect::Directive;
use stepwell_core::id::LeaseId;
use stepwell_core::run::{Dialect, Run};
use stepwell_core::time::Timestamp;
use stepwell_dialects::commands::directive::{self, CallbackUrls, DirectiveMessage};
use stepwell_dialects::moment::Moment;
use stepwell_dialects::workspaces::directive::{self as job, JobDirective};
use stepwell_engine::Taken;

use crate::auth::callback::Subject;
use crate::error::ApiError;
use crate::state::Api;

#[derive(Serialize)]
struct Leased<'a> {
    directives: Vec<LeasedDirective<'a>>,
}

#[derive(Serialize)]
struct LeasedDirective<'a> {
    delivery: String,
    locked_until: Moment,
    deliveries: u32,
    directive: Order<'a>,
}

/// A directive in the words of its dialect.
#[derive(Serialize)]
#[serde(untagged)]
enum Order<'a> {
    Plain(Box<DirectiveMessage<'a>>),
    OfJob(Box<JobDirective<'a>>),
}

impl<'a> Order<'a> {
    fn render(run: &'a Run, directive: Directive, urls: &'a CallbackUrls) -> Option<Self> {
        match run.header.dialect {
            Dialect::Workspaces => {
                job::render(run, directive.step, urls).map(Box::new).map(Self::OfJob)
            }
            Dialect::Commands | Dialect::Platform | Dialect::Runbooks => {
                directive::render(run, directive.step, urls).map(Box::new).map(Self::Plain)
            }
        }
    }
}

/// Answers with the directives that were leased.
pub(super) fn leased(api: &Api, taken: &[Taken]) -> Response {
    let urls = |taken: &Taken| callback_urls(api, &taken.run, taken.directive, taken.locked_until);
    let urls: Vec<CallbackUrls> = taken.iter().map(urls).collect();
    let directives = taken.iter().zip(&urls).filter_map(|(taken, urls)| {
        Some(LeasedDirective {
            delivery: taken.held.to_string(),
            locked_until: Moment(taken.locked_until),
            deliveries: taken.deliveries,
            directive: Order::render(&taken.run, taken.directive, urls)?,
        })
    });
    Json(Leased { directives: directives.collect() }).into_response()
}

/// What a worker goes on with: it has it already, and keeps it with signs of life.
#[derive(Serialize)]
pub(in crate::routes) struct Next {
    locked_until: Moment,
    directive: serde_json::Value,
}

impl Next {
    /// What whoever reported under this lease goes on with, if it is to go on.
    pub(super) fn after(api: &Api, run: &Run, lease: LeaseId) -> Result<Option<Self>, ApiError> {
        match run.continuation(lease) {
            Some(directive) => Self::of(api, run, directive),
            None => Ok(None),
        }
    }

    /// An attempt under way as the worker that has it is told of it.
    pub(super) fn of(api: &Api, run: &Run, directive: Directive) -> Result<Option<Self>, ApiError> {
        let lease = run.steps[directive.step.position()].lease;
        let locked_until = lease.map_or(api.engine().now(), |lease| lease.expires_at);
        let urls = callback_urls(api, run, directive, locked_until);
        let Some(order) = Order::render(run, directive, &urls) else { return Ok(None) };
        let directive = serde_json::to_value(order);
        let directive = directive.map_err(|error| ApiError::internal(&error.to_string()))?;
        Ok(Some(Self { locked_until: Moment(locked_until), directive }))
    }
}

/// Where the worker answers, with the proof that belongs to this attempt alone.
fn callback_urls(
    api: &Api,
    run: &Run,
    directive: Directive,
    locked_until: Timestamp,
) -> CallbackUrls {
    let subject = Subject {
        tenant: run.header.tenant.as_str(),
        run: run.id(),
        step: &run.step_id(directive.step),
        fence: Fence { attempt: directive.attempt, lease: directive.lease },
    };
    let lease = run.steps[directive.step.position()].lease;
    let expires_at = lease.map_or(locked_until, |lease| lease.expires_at);
    let token = api.callback_key().token(&subject, expires_at);
    let url = |what| format!("{}/v1/callbacks/{what}?token={token}", api.settings().base_url);
    CallbackUrls { ack: url("ack"), result: url("result") }
}
