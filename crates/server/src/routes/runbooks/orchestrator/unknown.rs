//! Events of a type that nobody here knows: kept as dead letters, for a person.
//!
//! They go through a queue of their own, so that one that was accepted is not lost if the process
//! ends before its dead letter is written: whoever comes next settles it.

use stepwell_core::duration::Interval;
use stepwell_dialects::runbooks::event;
use stepwell_dialects::runbooks::message::topic::{EVENTS, TTL};
use stepwell_store::{Disposition, NewDeadLetter, NewSubmission, Submission, SubmissionSettlement};

use crate::error::ApiError;
use crate::routes::platform::fresh_id;
use crate::state::Api;

/// How long one that was taken is kept from others.
const KEEP: Interval = Interval::from_secs(60);

/// How many are settled at once.
const SETTLED_MAX: usize = 16;

/// Keeps an event of an unknown type as a dead letter.
pub(super) async fn keep(
    api: &Api,
    message_type: Option<&str>,
    body: &[u8],
) -> Result<(), ApiError> {
    let (store, now) = (api.engine().store(), api.engine().now());
    let event = NewSubmission {
        queue: EVENTS.to_owned(),
        message_id: fresh_id(),
        workflow: message_type.unwrap_or(EVENTS).to_owned(),
        priority: 0,
        body: String::from_utf8_lossy(body).into_owned(),
        enqueued_at: now,
        expires_at: now.after(TTL),
    };
    store.submit(vec![event]).await?;
    let waiting = store.receive(EVENTS.to_owned(), now, KEEP, SETTLED_MAX).await?.messages;
    let settlements = waiting.into_iter().filter_map(|event| {
        let reason = rejection(&event)?;
        Some(SubmissionSettlement {
            id: event.id,
            deliveries: event.deliveries,
            disposition: Disposition::DeadLetter(NewDeadLetter {
                first_error: None,
                reason: reason.reason().to_owned(),
                step: None,
                error: reason.error(),
                at: now,
            }),
        })
    });
    store.settle_submissions(settlements.collect()).await?;
    Ok(())
}

/// Why an event is not used. It is read again, because another request may have brought it.
fn rejection(event: &Submission) -> Option<stepwell_dialects::runbooks::message::Rejection> {
    let message = &event.message;
    let named = Some(message.workflow.as_str()).filter(|named| *named != EVENTS);
    event::read(named, message.body.as_bytes()).err()
}
