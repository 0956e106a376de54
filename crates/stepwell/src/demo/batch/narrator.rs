//! Tells people what happens, each time with the moment on the batch's own timeline.

use std::sync::Arc;

use indicatif::MultiProgress;
use jiff::Timestamp;
use stepwell_connectors::clock::{Clock, FastClock};

use crate::print::Printer;
use crate::progress;

const MINUTE_MS: i64 = 60_000;

/// Tells people what happens.
pub(super) struct Narrator {
    pub(super) print: Printer,
    pub(super) lines: MultiProgress,
    clock: Arc<FastClock>,
    start: Timestamp,
}

impl Narrator {
    /// A narrator of a batch with this T-0.
    pub(super) fn new(print: Printer, clock: Arc<FastClock>, start: Timestamp) -> Self {
        Self { print, lines: progress::lines(print.is_live()), clock, start }
    }

    /// Tells something that happens now.
    pub(super) fn tell(&self, text: &str) {
        self.tell_at(self.clock.now_ms(), text);
    }

    /// Tells something that happened at this moment.
    pub(super) fn tell_at(&self, at_ms: i64, text: &str) {
        let at = Timestamp::from_millisecond(at_ms).unwrap_or(self.start);
        let offset = offset(at_ms - self.start.as_millisecond());
        self.say(&format!("{}  {offset:<6}  {text}", at.strftime("%H:%M")));
    }

    /// Says something between the bars.
    pub(super) fn say(&self, text: &str) {
        if self.print.is_live() {
            let _ = self.lines.println(text);
        } else if !self.print.is_json() {
            self.print.note(text);
        }
    }
}

/// Where a moment stands on the timeline, in whole minutes that have begun: `T-45m`, `T-0`, `T+5m`.
fn offset(after_start_ms: i64) -> String {
    match after_start_ms.div_euclid(MINUTE_MS) {
        0 => "T-0".to_owned(),
        minutes if minutes < 0 => format!("T-{}m", minutes.unsigned_abs()),
        minutes => format!("T+{minutes}m"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_named_by_the_minute_that_has_begun() {
        assert_eq!(offset(-45 * MINUTE_MS), "T-45m");
        assert_eq!(offset(-45 * MINUTE_MS + 20_000), "T-45m");
        assert_eq!(offset(300), "T-0");
        assert_eq!(offset(5 * MINUTE_MS), "T+5m");
    }
}
