//! Times as people like them: how long ago, and exactly when.

use jiff::Timestamp;

/// `2m ago · 2026-08-01 12:00:03Z`; the text itself if it is no time.
pub(crate) fn shown(text: &str, now: Timestamp) -> String {
    text.parse().map_or_else(|_| text.to_owned(), |moment| told(moment, now))
}

/// The same of a moment that is known as one.
pub(crate) fn told(moment: Timestamp, now: Timestamp) -> String {
    let exact = moment.strftime("%Y-%m-%d %H:%M:%SZ");
    format!("{} · {exact}", relative(moment, now))
}

/// `2m ago`, `in 3h`, `now`.
pub(crate) fn relative(moment: Timestamp, now: Timestamp) -> String {
    let seconds = now.as_second() - moment.as_second();
    match seconds {
        0 => "now".to_owned(),
        1.. => format!("{} ago", length(seconds.unsigned_abs())),
        _ => format!("in {}", length(seconds.unsigned_abs())),
    }
}

/// The length in its largest unit, and the next one where it still tells something.
pub(crate) fn length(seconds: u64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    match seconds {
        0..60 => format!("{seconds}s"),
        60..600 if !seconds.is_multiple_of(60) => format!("{minutes}m{}s", seconds % 60),
        60..3_600 => format!("{minutes}m"),
        3_600..36_000 if !minutes.is_multiple_of(60) => format!("{hours}h{}m", minutes % 60),
        3_600..86_400 => format!("{hours}h"),
        _ => format!("{days}d"),
    }
}

/// `0.84 s` or `12 ms`, for times that were measured.
pub(crate) fn measured(millis: u64) -> String {
    if millis < 1_000 { format!("{millis} ms") } else { format!("{:.2} s", millis as f64 / 1e3) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_shown_relative_and_exact() {
        let now: Timestamp = "2026-08-01T12:05:00Z".parse().unwrap();
        assert_eq!(shown("2026-08-01T12:05:00.200Z", now), "now · 2026-08-01 12:05:00Z");
        assert_eq!(shown("2026-08-01T12:03:30Z", now), "1m30s ago · 2026-08-01 12:03:30Z");
        assert_eq!(shown("2026-08-01T13:05:00Z", now), "in 1h · 2026-08-01 13:05:00Z");
        assert_eq!(shown("2026-07-01T12:05:00Z", now), "31d ago · 2026-07-01 12:05:00Z");
        assert_eq!(shown("soon", now), "soon");
    }
}
