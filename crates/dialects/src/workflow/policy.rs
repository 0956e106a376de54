//! Durations, retries and polling, as a document writes them.

use stepwell_core::definition::Poll;
use stepwell_core::duration::Interval;
use stepwell_core::retry::{Delay, RetryPolicy};

use crate::fields::{Field, Fields};
use crate::yaml::Node;

/// What a step does without a `retry` of its own or of its document (D-048).
pub(super) const ATTEMPTS_DEFAULT: u32 = 3;

/// How long an attempt may take if nobody says.
pub(super) const TIMEOUT_DEFAULT: Interval = Interval::from_secs(15 * 60);

const ATTEMPTS_MAX: u32 = 1_000;
const DELAYS_MAX: usize = 100;
const FACTOR_DEFAULT: u32 = 2;
const FACTOR_MAX: u32 = 100;
const CAP_DEFAULT: Interval = Interval::from_secs(60 * 60);

/// Shorter than this, a wait would be over before its message has travelled.
const WAIT_MIN: Interval = Interval::from_millis(100);

/// A duration that somebody waits for: neither too short to be meant nor without end.
pub(super) fn wait(field: &Field<'_, Node>) -> Option<Interval> {
    let interval = field.interval()?;
    if interval >= WAIT_MIN {
        return Some(interval);
    }
    let problem = field
        .problem("out_of_range", format!("{interval} is out of range"))
        .help(format!("use {WAIT_MIN} to {}", Interval::MAX));
    field.report(problem);
    None
}

/// The policy of a step that has none.
pub(super) fn retry_default() -> RetryPolicy {
    RetryPolicy::fixed(ATTEMPTS_DEFAULT, Interval::ZERO)
}

/// Reads `retry` or `run_retry`.
pub(super) fn retry(field: Field<'_, Node>) -> Option<RetryPolicy> {
    let mut fields = field.fields()?;
    let attempts_max = fields.optional_integer("max_attempts", 1..=ATTEMPTS_MAX);
    let delay = delay(&mut fields);
    let jitter_percent = fields.optional("jitter").and_then(|jitter| percent(&jitter));
    fields.finish();
    Some(RetryPolicy {
        attempts_max: attempts_max.unwrap_or(ATTEMPTS_DEFAULT),
        delay: delay.unwrap_or(Delay::Fixed(Interval::ZERO)),
        jitter_percent: jitter_percent.unwrap_or(0),
    })
}

/// Reads `poll`.
pub(super) fn poll(field: Field<'_, Node>) -> Option<Poll> {
    let mut fields = field.fields()?;
    let interval = fields.required("interval").and_then(|interval| wait(&interval));
    let timeout_field = fields.required("timeout");
    let timeout = timeout_field.as_ref().and_then(wait);
    fields.finish();
    let poll = Poll { interval: interval?, timeout: timeout? };
    if poll.timeout < poll.interval {
        let field = timeout_field?;
        let message = format!("polling ends after {}, before it asks again", poll.timeout);
        let help = format!("use at least the interval, {}", poll.interval);
        field.report(field.problem("timeout_too_short", message).help(help));
    }
    Some(poll)
}

fn delay(fields: &mut Fields<'_, Node>) -> Option<Delay> {
    let interval = fields.optional("interval");
    let delays = fields.optional("delays");
    let exponential = fields.optional("exponential");
    if let Some(second) = [&interval, &delays, &exponential].into_iter().flatten().nth(1) {
        let problem = second
            .problem("conflicting_fields", "the delay is given in more than one way")
            .help("keep one of interval, delays and exponential");
        second.report(problem);
    }
    let interval = interval.and_then(|field| field.interval()).map(Delay::Fixed);
    let delays = delays.and_then(|field| list(&field));
    let exponential = exponential.and_then(growing);
    interval.or(delays).or(exponential)
}

fn list(field: &Field<'_, Node>) -> Option<Delay> {
    let items = field.items()?;
    if !(1..=DELAYS_MAX).contains(&items.len()) {
        let message = format!("the list has {} delays", items.len());
        field.report(field.problem("out_of_range", message).help("write 1 to 100"));
    }
    let delays = items.iter().filter_map(Field::interval).collect();
    Some(Delay::List(delays))
}

fn growing(field: Field<'_, Node>) -> Option<Delay> {
    let mut fields = field.fields()?;
    let first = fields.required("first").and_then(|first| wait(&first));
    let factor = fields.optional_integer("factor", 1..=FACTOR_MAX);
    let cap_field = fields.optional("cap");
    let cap = cap_field.as_ref().and_then(wait);
    fields.finish();
    let first = first?;
    if let (Some(field), Some(cap)) = (&cap_field, cap)
        && cap < first
    {
        let message = format!("the delay begins at {first}, above its cap of {cap}");
        field.report(field.problem("out_of_range", message).help("raise the cap"));
    }
    let cap = cap.unwrap_or(CAP_DEFAULT.max(first));
    Some(Delay::Exponential { first, factor: factor.unwrap_or(FACTOR_DEFAULT), cap })
}

fn percent(field: &Field<'_, Node>) -> Option<u8> {
    let text = field.text()?;
    let digits = text.strip_suffix('%').filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()));
    let number = digits.and_then(|digits| digits.parse::<u8>().ok());
    match number {
        Some(number) if number <= 100 => Some(number),
        Some(_) | None => {
            let problem = field
                .problem("bad_percentage", "this is not a percentage from 0% to 100%")
                .help("write it as a whole number with a percent sign, such as 20%");
            field.report(problem);
            None
        }
    }
}
