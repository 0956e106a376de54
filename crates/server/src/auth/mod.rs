//! Who asks, and what they may do.
//!
//! An [`Authenticator`] turns what a request shows into a [`Caller`]. API tokens are the first; a
//! verifier of identity tokens would be another. What a caller may do is one table, in [`role`].
//! Callbacks of workers prove themselves in another way, by attempt: see [`callback`].

pub mod callback;
pub mod role;
pub mod token;

use std::future::Future;
use std::pin::Pin;

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use stepwell_core::command::Act;
use stepwell_core::id::Tenant;

pub use self::role::{Permission, Role};
use crate::error::{ApiError, Code};

/// Who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// for histories and logs; never a secret
    pub subject: String,
    /// what they may do
    pub role: Role,
    /// whose things they may see; `None`: everybody's
    pub tenant: Option<Tenant>,
}

/// The future of an authentication.
pub type Authenticated<'a> = Pin<Box<dyn Future<Output = Result<Caller, ApiError>> + Send + 'a>>;

/// Turns a bearer token into a caller.
pub trait Authenticator: Send + Sync {
    /// Who shows this token.
    ///
    /// Fails with [`Code::InvalidToken`] for every token that proves nothing, without saying why.
    fn authenticate<'a>(&'a self, bearer: &'a str) -> Authenticated<'a>;
}

impl Caller {
    /// Refuses what the role does not allow.
    pub(crate) fn may(&self, permission: Permission) -> Result<(), ApiError> {
        if self.role.has(permission) {
            return Ok(());
        }
        let (role, word) = (self.role.word(), permission.word());
        let detail = format!("a token of role {role} has no permission {word}");
        Err(ApiError::new(Code::Forbidden, detail))
    }

    /// Refuses roles that need not see the data of people, where an installation wants that.
    pub(crate) fn must_be_a_reader(&self) -> Result<(), ApiError> {
        match self.role {
            Role::Admin | Role::Operator | Role::Viewer => Ok(()),
            Role::Client | Role::Worker => {
                let role = self.role.word();
                let detail = format!("this installation shows no batches to tokens of role {role}");
                Err(ApiError::new(Code::Forbidden, detail))
            }
        }
    }

    /// Whether something of this tenant exists for the caller.
    pub(crate) fn sees(&self, tenant: &Tenant) -> bool {
        self.tenant.as_ref().is_none_or(|own| own == tenant)
    }

    /// Refuses to act for a tenant that is not the caller's.
    pub(crate) fn acts_for(&self, tenant: &str) -> Result<(), ApiError> {
        match &self.tenant {
            Some(own) if own.as_str() != tenant => {
                let detail = "the token is bound to another tenant than the request names";
                Err(ApiError::new(Code::TenantMismatch, detail))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Refuses callers who are bound to one tenant what concerns all of them.
    pub(crate) fn is_for_all_tenants(&self, what: &str) -> Result<(), ApiError> {
        match &self.tenant {
            None => Ok(()),
            Some(tenant) => {
                let detail = format!("the token is bound to tenant {tenant:?}, and {what}");
                Err(ApiError::new(Code::AllTenantsRequired, detail))
            }
        }
    }

    /// What the caller does, for the history.
    pub(crate) fn act(&self, reason: impl Into<String>) -> Act {
        Act::new(self.subject.clone(), reason)
    }
}

/// The caller that the route's guard has let in.
impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let caller = parts.extensions.get::<Self>().cloned();
        caller.ok_or_else(|| ApiError::internal("a route without a guard asked who calls"))
    }
}

/// The bearer token of a request.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}
