//! Routes: each documented, each with exactly one permission.
//!
//! [`Routes::add`] is the only way in. It takes the handler with its OpenAPI description and the
//! access it needs, and from these it makes the route, its guard, its document and its row in the
//! table of docs/access.md. A route without a description or without a guard cannot be added.

mod bootstrap;
mod callbacks;
mod commands;
mod dead_letters;
mod direct;
mod events;
mod health;
pub(crate) mod instances;
mod jobs;
mod operate;
mod page;
mod platform;
mod rotation;
mod runbooks;
mod subscriptions;
mod tokens;
pub(crate) mod verb;
mod workers;
mod workflows;
mod workspaces;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use utoipa::openapi::OpenApi;
use utoipa::openapi::path::{Operation, PathItem};
use utoipa_axum::router::UtoipaMethodRouter;

use crate::auth::{Permission, bearer};
use crate::error::{ApiError, Code};
use crate::openapi;
use crate::state::Api;

pub(crate) use self::jobs::find;

/// What a route asks of its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// nothing
    Open,
    /// the proof that belongs to an attempt
    Callback,
    /// a signature with the secret of a trigger
    Signature,
    /// a token whose role has the permission
    Needs(Permission),
}

/// A route as the table of docs/access.md shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// in capitals
    pub method: &'static str,
    /// with its parameters in braces
    pub path: String,
    /// what it asks of its caller
    pub access: Access,
}

/// Whom routes are for.
enum Audience {
    Clients,
    /// whoever must reach the very process that owns jobs
    WorkersAndOperators,
}

/// Adds the routes of one file.
type Add = fn(Routes) -> Routes;

/// All routes, in the order of the documents.
const GROUPS: [(Audience, Add); 19] = [
    (Audience::Clients, commands::add),
    (Audience::Clients, jobs::add),
    (Audience::Clients, operate::add),
    (Audience::Clients, platform::add),
    (Audience::Clients, direct::add),
    (Audience::Clients, runbooks::add),
    (Audience::Clients, workspaces::add),
    (Audience::WorkersAndOperators, runbooks::add_for_workers),
    (Audience::WorkersAndOperators, callbacks::add),
    (Audience::WorkersAndOperators, workers::add),
    (Audience::Clients, workflows::add),
    (Audience::Clients, dead_letters::add),
    (Audience::Clients, events::add),
    (Audience::Clients, subscriptions::add),
    (Audience::Clients, tokens::add),
    (Audience::WorkersAndOperators, instances::add),
    (Audience::Clients, bootstrap::add),
    (Audience::WorkersAndOperators, health::add),
    (Audience::Clients, page::add),
];

/// Routes on their way to a router and its documents.
pub(crate) struct Routes {
    api: Api,
    router: Router<Api>,
    document: OpenApi,
    table: Vec<Route>,
}

impl Routes {
    /// Every route of the API; without those for clients where the server does not take their requests.
    pub(crate) fn all(api: Api) -> Self {
        let takes_requests = api.settings().takes_requests;
        let routes =
            Self { api, router: Router::new(), document: openapi::empty(), table: Vec::new() };
        let wanted = GROUPS.into_iter().filter(|(audience, _)| {
            takes_requests || matches!(audience, Audience::WorkersAndOperators)
        });
        wanted.fold(routes, |routes, (_, add)| add(routes))
    }

    /// Adds a handler with what it asks of its callers.
    pub(crate) fn add(self, access: Access, handler: UtoipaMethodRouter<Api>) -> Self {
        self.add_with_body(access, BODY_MAX, handler)
    }

    /// The same, for a handler whose bodies may be larger or must be smaller than usual.
    pub(crate) fn add_with_body(
        mut self,
        access: Access,
        body_max: usize,
        (schemas, paths, methods): UtoipaMethodRouter<Api>,
    ) -> Self {
        let methods = match access {
            Access::Needs(permission) => {
                let guarded = (self.api.clone(), permission);
                methods.route_layer(from_fn_with_state(guarded, guard))
            }
            Access::Open | Access::Callback | Access::Signature => methods,
        };
        let methods = methods.layer(DefaultBodyLimit::max(body_max));
        let components = self.document.components.get_or_insert_default();
        components.schemas.extend(schemas);
        for (path, mut item) in paths.paths {
            for (method, operation) in operations(&mut item) {
                openapi::complete(operation, access);
                self.table.push(Route { method, path: path.clone(), access });
            }
            self.router = self.router.route(&verb::inward(&path), methods.clone());
            match self.document.paths.paths.get_mut(&path) {
                Some(known) => known.merge_operations(item),
                None => drop(self.document.paths.paths.insert(path, item)),
            }
        }
        self
    }

    /// The router, what it documents, and who may use it.
    pub(crate) fn into_parts(self) -> (Router<Api>, OpenApi, Vec<Route>) {
        (self.router, self.document, self.table)
    }
}

/// The most that a body may hold, unless its route says otherwise.
pub(crate) const BODY_MAX: usize = 1024 * 1024;

fn operations(item: &mut PathItem) -> Vec<(&'static str, &mut Operation)> {
    let methods = [
        ("GET", &mut item.get),
        ("POST", &mut item.post),
        ("PUT", &mut item.put),
        ("DELETE", &mut item.delete),
    ];
    methods.into_iter().filter_map(|(name, operation)| Some((name, operation.as_mut()?))).collect()
}

/// Lets in who may come in.
async fn guard(
    State((api, permission)): State<(Api, Permission)>,
    mut request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let bearer = bearer(request.headers())
        .ok_or_else(|| ApiError::new(Code::Unauthenticated, "the request carries no token"))?;
    let caller = api.authenticator().authenticate(bearer).await?;
    tracing::Span::current().record("subject", &caller.subject);
    caller.may(permission)?;
    if permission == Permission::ReadBatches && api.settings().batches_need_a_reader {
        caller.must_be_a_reader()?;
    }
    request.extensions_mut().insert(caller);
    Ok(next.run(request).await)
}

pub(crate) async fn not_found() -> ApiError {
    ApiError::new(Code::RouteNotFound, "there is nothing at this address")
}

pub(crate) async fn method_not_allowed() -> ApiError {
    ApiError::new(Code::MethodNotAllowed, "this address does not take this method")
}
