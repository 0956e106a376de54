//! Events of a type that nobody here knows: kept as dead letters, for a person.

use stepwell_core::run::Dialect;
use stepwell_core::time::Timestamp;
use stepwell_dialects::runbooks::event;
use stepwell_dialects::runbooks::message::topic::{EVENTS, TTL};
use stepwell_engine::Unusable;
use stepwell_store::{NewDeadLetter, Submission};

use crate::error::ApiError;
use crate::state::Api;

/// Keeps an event of an unknown type as a dead letter.
pub(super) async fn keep(
    api: &Api,
    message_type: Option<&str>,
    body: &[u8],
) -> Result<(), ApiError> {
    let event = Unusable {
        queue: EVENTS,
        dialect: Dialect::Runbooks,
        about: message_type.unwrap_or(EVENTS),
        body,
        keep: TTL,
    };
    Ok(api.engine().keep_unusable(event, letter).await?)
}

/// Why an event is not used. It is read again, because another request may have brought it.
fn letter(event: &Submission, now: Timestamp) -> Option<NewDeadLetter> {
    let message = &event.message;
    let named = Some(message.workflow.as_str()).filter(|named| *named != EVENTS);
    let rejection = event::read(named, message.body.as_bytes()).err()?;
    Some(NewDeadLetter {
        first_error: None,
        reason: rejection.reason().to_owned(),
        step: None,
        error: rejection.error(),
        at: now,
    })
}
