//! W3C trace context, and the trace ids inside it.

use stepwell_core::id::RunId;

/// Whether a text is a W3C traceparent: version, trace id, parent id and flags in lower-case
/// hexadecimal.
#[must_use]
pub fn is_traceparent(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    match parts.as_slice() {
        [version, trace, parent, flags] => {
            is_hex(version, 2)
                && *version != "ff"
                && is_hex(trace, 32)
                && !is_zero(trace)
                && is_hex(parent, 16)
                && !is_zero(parent)
                && is_hex(flags, 2)
        }
        _ => false,
    }
}

/// The trace id inside a traceparent.
#[must_use]
pub fn trace_id(traceparent: &str) -> Option<&str> {
    is_traceparent(traceparent).then(|| traceparent.split('-').nth(1)).flatten()
}

/// The trace of a run that nobody gave one: its own id.
#[must_use]
pub fn own_trace_id(run: RunId) -> String {
    format!("{:032x}", run.as_u128())
}

/// The traceparent of a trace id, with the run as the parent; `None` if W3C has no form for that id.
///
/// Ids written with hyphens are taken without them: a UUID, or `1-5759e988-bd862e3fe1be46a994272793`,
/// whose leading 1 is a version.
#[must_use]
pub fn traceparent(trace_id: &str, run: RunId) -> Option<String> {
    let digits = trace_id.strip_prefix("1-").unwrap_or(trace_id).replace('-', "");
    let digits = digits.to_ascii_lowercase();
    // The half of an id that is drawn at random is never all zeros: it begins with its variant.
    let parent = run.as_u128() & u128::from(u64::MAX);
    let is_id = is_hex(&digits, 32) && !is_zero(&digits) && parent != 0;
    is_id.then(|| format!("00-{digits}-{parent:016x}-01"))
}

fn is_hex(part: &str, length: usize) -> bool {
    part.len() == length && part.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

fn is_zero(part: &str) -> bool {
    part.bytes().all(|byte| byte == b'0')
}

#[cfg(test)]
mod tests {
    use super::*;

    // C-027: the trace id of a record and that of its logs and spans are one.
    #[test]
    fn a_trace_id_becomes_a_traceparent_and_is_found_in_it_again() {
        let run: RunId = "019b8d3c-0000-7000-8000-000000000001".parse().expect("an id");
        let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
        let made = traceparent(trace, run).expect("a trace id");
        assert_eq!(made, format!("00-{trace}-8000000000000001-01"));
        assert_eq!(trace_id(&made), Some(trace));
        assert_eq!(
            trace_id(&traceparent(&own_trace_id(run), run).expect("its own")),
            Some(own_trace_id(run).as_str())
        );
        let uuid = traceparent("4BF92F35-77b3-4da6-a3ce-929d0e0e4736", run);
        assert_eq!(uuid.as_ref(), Some(&made));
        let amazon = traceparent("1-4bf92f35-77b34da6a3ce929d0e0e4736", run);
        assert_eq!(amazon.as_ref(), Some(&made));
        for text in ["", "trace-7", "0".repeat(32).as_str()] {
            assert_eq!(traceparent(text, run), None, "{text}");
        }
    }
}
