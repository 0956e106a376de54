//! When a trigger fires by itself: a cron expression in the time of a place.
//!
//! # Expressions
//!
//! Five fields, `minute hour day month weekday`, or six with seconds first. A field is `*`, a value, a
//! range `1-5`, a step `*/15` or `8-18/2`, or a list of them; months and weekdays may be named
//! (`JAN`, `MON`), Sunday is 0 and 7. The day may also be `L` (the last of the month), `15W` (the
//! weekday nearest to the 15th) or `LW`; the weekday `FRI#2` (the second Friday) or `FRIL` (the last
//! one). If day and weekday are both restricted, either is enough, as cron has always done it.
//! `@hourly`, `@daily`, `@midnight`, `@weekly`, `@monthly`, `@yearly` and `@annually` are short forms.
//!
//! # When clocks change
//!
//! - A time that does not exist fires once, at the first moment after the gap: `30 2 * * *` fires at
//!   03:00 on the day the clock goes from 02:00 to 03:00. Several times in one gap fire once together.
//! - A time that exists twice fires once, at the first of the two.
//! - An expression that names every hour (`*` as its hour) means "every so many minutes", so it follows
//!   elapsed time: it fires in both of the doubled hours, and not for an hour that does not exist.
//!
//! The data of the time zones is compiled in: every instance of a release agrees on it, and nothing is
//! read from the machine.

mod cron;
mod day;
mod error;
mod field;
#[cfg(test)]
mod oracle;
#[cfg(test)]
mod tests;

use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone, TimeZoneDatabase};
use stepwell_core::time::Timestamp;

use self::cron::Cron;
pub use self::error::{ScheduleError, SchedulePart};
pub use self::field::Field;

/// When a trigger fires by itself.
#[derive(Clone, Debug)]
pub struct Schedule {
    cron: Cron,
    zone: TimeZone,
}

impl Schedule {
    /// Reads a cron expression and the IANA name of a time zone.
    ///
    /// # Errors
    /// The first fault of the expression, or a zone that nobody knows. An expression that never fires,
    /// such as one for February 30, is a fault too.
    pub fn parse(cron: &str, zone: &str) -> Result<Self, ScheduleError> {
        let cron = Cron::parse(cron)?;
        let zone =
            TimeZoneDatabase::bundled().get(zone).map_err(|_| ScheduleError::unknown_zone(zone))?;
        Ok(Self { cron, zone })
    }

    /// The first moment after this one at which it fires; `None` if there is none that can be stored.
    #[must_use]
    pub fn next_after(&self, moment: Timestamp) -> Option<Timestamp> {
        let after = jiff::Timestamp::from_millisecond(moment.as_millis()).ok()?;
        let next = if self.cron.names_every_hour() {
            self.next_by_elapsed_time(after)
        } else {
            self.next_on_the_clock(after)
        };
        let next = Timestamp::from_millis(next?.as_millisecond());
        // The end of storable time is no firing.
        (next > moment).then_some(next)
    }

    /// Firings after `from` up to and with `until`, earliest first, at most `limit`.
    #[must_use]
    pub fn between(&self, from: Timestamp, until: Timestamp, limit: usize) -> Vec<Timestamp> {
        let firings = std::iter::successors(self.next_after(from), |last| self.next_after(*last));
        firings.take_while(|firing| *firing <= until).take(limit).collect()
    }

    /// What the clock of the place shows at a moment, in RFC 3339 with its offset.
    #[must_use]
    pub fn shown(&self, moment: Timestamp) -> String {
        match jiff::Timestamp::from_millisecond(moment.as_millis()) {
            Ok(at) => at.to_zoned(self.zone.clone()).strftime("%FT%T%:z").to_string(),
            Err(_) => moment.to_string(),
        }
    }

    /// What the clock of the place shows decides. Every time the expression names has its moment, in
    /// the same order, so the first one later than `after` is the answer.
    fn next_on_the_clock(&self, after: jiff::Timestamp) -> Option<jiff::Timestamp> {
        let mut shown = self.zone.to_datetime(after);
        loop {
            shown = self.cron.next_after(shown)?;
            // In the second of two doubled hours the clock shows times that are done with.
            let moment = self.moment_of(shown)?;
            if moment > after {
                return Some(moment);
            }
        }
    }

    fn moment_of(&self, shown: DateTime) -> Option<jiff::Timestamp> {
        match self.zone.to_ambiguous_timestamp(shown).offset() {
            AmbiguousOffset::Unambiguous { offset } => offset.to_timestamp(shown).ok(),
            AmbiguousOffset::Fold { before, .. } => before.to_timestamp(shown).ok(),
            AmbiguousOffset::Gap { after, .. } => {
                // By the later offset it lies before the change of the clock, by less than the gap.
                let earlier = after.to_timestamp(shown).ok()?;
                self.zone.following(earlier).next().map(|change| change.timestamp())
            }
        }
    }

    /// Goes from one change of the clock to the next: in between, moments and what the clock shows
    /// differ by a constant.
    fn next_by_elapsed_time(&self, after: jiff::Timestamp) -> Option<jiff::Timestamp> {
        let mut offset = self.zone.to_offset(after);
        let mut shown = self.cron.next_after(offset.to_datetime(after))?;
        for change in self.zone.following(after) {
            let moment = offset.to_timestamp(shown).ok()?;
            if moment < change.timestamp() {
                return Some(moment);
            }
            offset = change.offset();
            shown = self.cron.next_from(offset.to_datetime(change.timestamp()))?;
        }
        offset.to_timestamp(shown).ok()
    }
}
