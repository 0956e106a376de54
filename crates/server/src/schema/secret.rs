//! Secrets of webhooks, and how they are replaced.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// How a secret is to be replaced.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RotateRequest {
    /// how long the old secret stays valid, at most 30 days; 24 hours if not given, `0s`: not at all
    #[schema(example = "24h")]
    grace: Option<String>,
}

/// A secret that has taken the place of another.
#[derive(Serialize, ToSchema)]
pub(crate) struct RotatedSecret {
    /// what to sign or to verify with from now on; shown this once
    #[schema(example = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")]
    secret: String,
    /// until when the old one is valid; null: it is valid no more
    #[schema(format = DateTime)]
    previous_valid_until: Option<String>,
}
