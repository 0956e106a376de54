//! Which firings of a schedule are to be made now, and which are passed over. Pure.
//!
//! In quiet times one firing is due, a moment ago. After downtime there are more: those within the
//! catch-up window are made, the latest or all of them; the others are passed over, and it is noted
//! how many and why.

use stepwell_core::duration::Interval;
use stepwell_core::time::Timestamp;
use stepwell_dialects::workspaces::schedule::Schedule;

/// A firing this late is still on time, whatever the window: commits take a moment, and processes stall.
const ON_TIME: Interval = Interval::from_secs(60);

/// Firings made in one turn; what is left has the next one, after other triggers had theirs.
pub(super) const TURN: usize = 100;

/// More that were missed are not counted: looking at each takes time, and nobody cares how many.
const COUNTED_MAX: usize = 10_000;

/// Which of the firings that were missed are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CatchUp {
    /// how old they may be
    pub(super) window: Interval,
    /// all of them; otherwise the latest
    pub(super) all: bool,
}

impl CatchUp {
    /// How old a firing may be to be made.
    pub(super) fn age_max(self) -> Interval {
        self.window.max(ON_TIME)
    }
}

/// What is to be done about a schedule now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Due {
    /// firings to make, earliest first
    pub(super) made: Vec<Timestamp>,
    /// firings that are not made
    pub(super) passed_over: Option<PassedOver>,
    /// everything up to here is done with
    pub(super) until: Timestamp,
}

/// Firings that are not made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PassedOver {
    /// the last of them that was counted
    pub(super) last: Timestamp,
    /// how many, and why
    pub(super) reason: String,
}

/// What is due after `done_until`.
pub(super) fn due(
    schedule: &Schedule,
    catch_up: CatchUp,
    done_until: Timestamp,
    now: Timestamp,
) -> Due {
    let age_max = catch_up.age_max();
    // A firing exactly as old as allowed is made, so the line is drawn just before it.
    let too_old = just_before(earlier(now, age_max));
    let young_from = done_until.max(too_old);
    let until = now.max(done_until);
    if catch_up.all {
        let made = schedule.between(young_from, now, TURN);
        let is_all = made.len() < TURN;
        let until = made.last().copied().filter(|_| !is_all).unwrap_or(until);
        let why = format!("they are older than {age_max}");
        return Due { made, passed_over: passed_over(schedule, done_until, too_old, &why), until };
    }
    let latest = last_between(schedule, young_from, now);
    let others_until = latest.map_or(too_old, just_before);
    let why = format!("only the latest within {age_max} is made");
    Due {
        made: latest.into_iter().collect(),
        passed_over: passed_over(schedule, done_until, others_until, &why),
        until,
    }
}

fn passed_over(
    schedule: &Schedule,
    from: Timestamp,
    until: Timestamp,
    why: &str,
) -> Option<PassedOver> {
    let firings = schedule.between(from, until, COUNTED_MAX);
    let (first, last) = (*firings.first()?, *firings.last()?);
    let reason = match firings.len() {
        1 => format!("the firing for {first} was passed over: {why}"),
        COUNTED_MAX => {
            format!("{COUNTED_MAX} firings or more since {first} were passed over: {why}")
        }
        count => format!("{count} firings from {first} to {last} were passed over: {why}"),
    };
    Some(PassedOver { last, reason })
}

/// The last firing after `from` up to `until`, sought from behind in ever larger steps: from the front
/// there may be half a million.
fn last_between(schedule: &Schedule, from: Timestamp, until: Timestamp) -> Option<Timestamp> {
    let mut step = Interval::from_secs(1);
    loop {
        let begin = earlier(until, step).max(from);
        let found = schedule.between(begin, until, usize::MAX).pop();
        if found.is_some() || begin == from {
            return found;
        }
        step = step.saturating_mul(4);
    }
}

fn earlier(moment: Timestamp, interval: Interval) -> Timestamp {
    let millis = i64::try_from(interval.as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_millis(moment.as_millis().saturating_sub(millis))
}

fn just_before(moment: Timestamp) -> Timestamp {
    earlier(moment, Interval::from_millis(1))
}

#[cfg(test)]
mod tests {
    use stepwell_dialects::moment;

    use super::*;

    fn at(text: &str) -> Timestamp {
        moment::parse(&format!("2026-02-{text}Z")).expect(text).0
    }

    #[track_caller]
    fn check(cron: &str, catch_up: (&str, bool), times: [&str; 2], made: &[&str], reason: &str) {
        let schedule = Schedule::parse(cron, "UTC").expect(cron);
        let catch_up = CatchUp { window: catch_up.0.parse().expect("a window"), all: catch_up.1 };
        let due = due(&schedule, catch_up, at(times[0]), at(times[1]));
        assert_eq!(due.made, made.iter().map(|text| at(text)).collect::<Vec<_>>());
        assert_eq!(due.passed_over.map_or(String::new(), |it| it.reason), reason);
        assert_eq!(due.until, at(times[1]));
    }

    #[test]
    fn in_quiet_times_one_firing_is_due() {
        let times = ["02T12:00:00", "02T13:00:00.007"];
        check("0 * * * *", ("1h", false), times, &["02T13:00:00"], "");
        check("0 * * * *", ("0s", true), times, &["02T13:00:00"], "");
        check("0 * * * *", ("1h", false), ["02T13:00:00", "02T13:59:59"], &[], "");
        check("0 * * * *", ("1h", false), ["02T13:00:00", "02T13:00:00"], &[], "");
    }

    // Issue 6: downtime of an hour.
    #[test]
    fn after_an_hour_the_latest_or_all_within_the_window_are_made() {
        let times = ["02T12:00:00", "02T13:00:00"];
        let all = ["02T12:20:00", "02T12:40:00", "02T13:00:00"];
        check("*/20 * * * *", ("1h", true), times, &all, "");
        check(
            "*/20 * * * *",
            ("1h", false),
            times,
            &all[2..],
            "2 firings from 2026-02-02T12:20:00.000Z to 2026-02-02T12:40:00.000Z were passed over: \
             only the latest within 1h is made",
        );
        check(
            "*/20 * * * *",
            ("30m", true),
            times,
            &all[1..],
            "the firing for 2026-02-02T12:20:00.000Z was passed over: they are older than 30m",
        );
    }

    // Issue 6: downtime of a week.
    #[test]
    fn after_a_week_what_is_too_old_is_counted_and_passed_over() {
        check(
            "30 2 * * *",
            ("1h", false),
            ["02T12:00:00", "09T12:00:00"],
            &[],
            "7 firings from 2026-02-03T02:30:00.000Z to 2026-02-09T02:30:00.000Z were passed over: \
             only the latest within 1h is made",
        );
        check(
            "30 2 * * *",
            ("2d", true),
            ["02T12:00:00", "09T12:00:00"],
            &["08T02:30:00", "09T02:30:00"],
            "5 firings from 2026-02-03T02:30:00.000Z to 2026-02-07T02:30:00.000Z were passed over: \
             they are older than 2d",
        );
        check(
            "* * * * * *",
            ("7d", false),
            ["02T12:00:00", "09T12:00:00.500"],
            &["09T12:00:00"],
            "10000 firings or more since 2026-02-02T12:00:01.000Z were passed over: \
             only the latest within 7d is made",
        );
    }

    #[test]
    fn what_is_too_much_for_one_turn_is_left_for_the_next() {
        let schedule = Schedule::parse("* * * * * *", "UTC").expect("cron");
        let catch_up = CatchUp { window: Interval::from_secs(3600), all: true };
        let (from, now) = (at("02T12:00:00"), at("02T12:10:00"));
        let first = due(&schedule, catch_up, from, now);
        assert_eq!((first.made.len(), first.until), (TURN, at("02T12:01:40")));
        assert_eq!(due(&schedule, catch_up, first.until, now).made[0], at("02T12:01:41"));
    }
}
