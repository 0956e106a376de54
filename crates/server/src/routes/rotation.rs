//! How a webhook's secret is replaced, whether we send or receive: the same words, and the same answer.

use axum::Json;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::Value;
use stepwell_core::duration::Interval;
use stepwell_dialects::fields::Fields;
use stepwell_dialects::moment::Moment;
use stepwell_engine::RotatedSecret;

use crate::error::ApiError;
use crate::extract::JsonBody;

/// How long the old secret stays good, if nobody says otherwise.
const GRACE: Interval = Interval::from_secs(24 * 3600);

/// Whoever has not changed over after so long never will.
const GRACE_MAX: Interval = Interval::from_secs(30 * 24 * 3600);

/// How long the old secret is to stay good.
pub(super) fn grace(body: &JsonBody) -> Result<Interval, ApiError> {
    body.read(|fields: &mut Fields<'_, Value>| {
        let Some(field) = fields.optional("grace") else { return Some(GRACE) };
        let grace = field.interval()?;
        if grace > GRACE_MAX {
            let problem = field.problem("out_of_range", format!("{grace} is too long"));
            field.report(problem.help(format!("name at most {GRACE_MAX}")));
            return None;
        }
        Some(grace)
    })
}

/// The only answer that ever shows the secret.
#[derive(Serialize)]
struct SecretView {
    secret: String,
    previous_valid_until: Option<Moment>,
}

pub(super) fn shown(rotated: RotatedSecret) -> Response {
    let RotatedSecret { secret, old_until } = rotated;
    Json(SecretView { secret, previous_valid_until: old_until.map(Moment) }).into_response()
}
