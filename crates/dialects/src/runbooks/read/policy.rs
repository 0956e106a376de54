//! Durations, retries and polling, as a runbook writes them.

use stepwell_core::definition::Poll;
use stepwell_core::duration::Interval;

use super::warnings::Warnings;
use crate::fields::Field;
use crate::problem::quoted;
use crate::runbooks::document::Retry;
use crate::yaml::Node;

/// More retries than this are a loop, not a policy.
const RETRIES_MAX: u32 = 999;

const SECOND: Interval = Interval::from_secs(1);

/// A duration of at least a second.
pub(super) fn wait(field: &Field<'_, Node>) -> Option<Interval> {
    let interval = whole_seconds(field)?;
    if interval >= SECOND {
        return Some(interval);
    }
    let problem = field
        .problem("out_of_range", format!("{interval} is out of range"))
        .help(format!("use {SECOND} to {}", Interval::MAX));
    field.report(problem);
    None
}

/// A duration in the units of runbooks, which are stored as whole seconds.
fn whole_seconds(field: &Field<'_, Node>) -> Option<Interval> {
    let text = field.text()?;
    // Milliseconds are a unit of workflows only.
    let interval = text.parse::<Interval>().ok().filter(|_| !text.ends_with("ms"));
    if interval.is_none() {
        let problem = field
            .problem("bad_duration", format!("{} is not a duration", quoted(text)))
            .help(format!(
                "write a whole number and one of s, m, h or d, without spaces, such as 30s or 15m, \
                 up to {}",
                Interval::MAX
            ));
        field.report(problem);
    }
    interval
}

/// Reads `retry`, of the document or of a step. A key that is missing is not inherited.
pub(super) fn retry(field: Field<'_, Node>, warnings: &Warnings) -> Option<Retry> {
    let place = field.clone();
    let mut fields = field.fields()?;
    let max_retries = fields.optional("max_retries");
    let interval = fields.optional("interval").and_then(|interval| whole_seconds(&interval));
    warnings.unknown(&fields);
    if max_retries.is_none() {
        let problem = place
            .problem("no_retries", "a retry without max_retries retries nothing")
            .help("add max_retries; it is not taken over from the retry of the document");
        warnings.add(problem);
    }
    let max_retries = max_retries.and_then(|number| number.integer(0..=RETRIES_MAX));
    Some(Retry {
        max_retries: max_retries.unwrap_or(0),
        interval: interval.unwrap_or(Interval::ZERO),
    })
}

/// Reads `poll`.
pub(super) fn poll(field: Field<'_, Node>, warnings: &Warnings) -> Option<Poll> {
    let mut fields = field.fields()?;
    let interval = fields.required("interval").and_then(|interval| wait(&interval));
    let timeout_field = fields.required("timeout");
    let timeout = timeout_field.as_ref().and_then(wait);
    warnings.unknown(&fields);
    let poll = Poll { interval: interval?, timeout: timeout? };
    if poll.timeout < poll.interval {
        let field = timeout_field?;
        let message = format!("polling ends after {}, before it asks again", poll.timeout);
        let help = format!("use at least the interval, {}", poll.interval);
        field.report(field.problem("timeout_too_short", message).help(help));
    }
    Some(poll)
}
