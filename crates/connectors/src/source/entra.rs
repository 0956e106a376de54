//! A token of Microsoft Entra for an application, by the client credentials grant.

use reqwest::Url;
use reqwest::header::CONTENT_TYPE;
use serde::Deserialize;

use super::environment::Variables;
use super::error::SourceError;
use super::web::{self, Web};

/// The variables that Microsoft's own libraries read.
const TENANT: &str = "AZURE_TENANT_ID";
const CLIENT: &str = "AZURE_CLIENT_ID";
const SECRET: &str = "AZURE_CLIENT_SECRET";
const AUTHORITY: &str = "AZURE_AUTHORITY_HOST";

const PUBLIC_CLOUD: &str = "https://login.microsoftonline.com";

/// An answer that holds a token is short.
const ANSWER_BYTES_MAX: usize = 1024 * 1024;

/// All three, for whoever is told what to set.
pub(super) const NEEDED: &str = "AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET";

/// An application that may ask for tokens.
pub(super) struct Application {
    /// where tokens are given
    url: Url,
    client_id: String,
    client_secret: String,
}

impl Application {
    /// The application of the environment; none if nothing there speaks of one.
    pub(super) fn of(variables: &Variables<'_>) -> Result<Option<Self>, SourceError> {
        if [TENANT, CLIENT, SECRET].iter().all(|name| variables.optional(name).is_none()) {
            return Ok(None);
        }
        let (client_id, client_secret) = (variables.needed(CLIENT)?, variables.needed(SECRET)?);
        Self::named(variables, client_id, client_secret).map(Some)
    }

    /// An application that somebody else names, in the tenant of the environment.
    pub(super) fn named(
        variables: &Variables<'_>,
        client_id: String,
        client_secret: String,
    ) -> Result<Self, SourceError> {
        let tenant = variables.needed(TENANT)?;
        let bad = |name: &str, reason: &str| SourceError::BadVariable {
            name: name.to_owned(),
            reason: reason.to_owned(),
        };
        if !tenant.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.')) {
            return Err(bad(TENANT, "it must be the id or a domain of the tenant"));
        }
        let authority = variables.optional(AUTHORITY).unwrap_or_else(|| PUBLIC_CLOUD.to_owned());
        let authority = web::base_url(&authority).map_err(|reason| bad(AUTHORITY, reason))?;
        let url = authority.join(&format!("/{tenant}/oauth2/v2.0/token"));
        let url = url.map_err(|_| bad(AUTHORITY, "it is no URL; write https://host"))?;
        Ok(Self { url, client_id, client_secret })
    }

    /// What must not be repeated.
    pub(super) fn secret(&self) -> String {
        self.client_secret.clone()
    }

    /// A token for what `scope` names.
    pub(super) async fn token(&self, web: &Web, scope: &str) -> Result<String, SourceError> {
        let request = web
            .client()
            .post(self.url.clone())
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(self.form(scope));
        let reply = web.send(request, &mut ANSWER_BYTES_MAX.clone()).await?;
        if reply.status.is_success() {
            let granted: Granted = serde_json::from_slice(&reply.body)
                .map_err(|_| SourceError::unreadable("Microsoft Entra answered without a token"))?;
            return Ok(granted.access_token);
        }
        let refused: Option<Refused> = serde_json::from_slice(&reply.body).ok();
        let said = refused.map_or_else(|| web::text(&reply.body), |it| it.error_description);
        let said = web.shown(&said);
        match reply.status.as_u16() {
            400 | 401 | 403 => Err(SourceError::AccessDenied {
                reason: format!("Microsoft Entra gives no token ({said}); check {NEEDED}"),
            }),
            _ => Err(web.failure(&reply, &said, NEEDED)),
        }
    }

    fn form(&self, scope: &str) -> String {
        // A query of a URL and the body of a form are written alike.
        let mut form = self.url.clone();
        form.query_pairs_mut()
            .append_pair("grant_type", "client_credentials")
            .append_pair("client_id", &self.client_id)
            .append_pair("client_secret", &self.client_secret)
            .append_pair("scope", scope);
        form.query().unwrap_or_default().to_owned()
    }
}

#[derive(Deserialize)]
struct Granted {
    access_token: String,
}

#[derive(Deserialize)]
struct Refused {
    error_description: String,
}
