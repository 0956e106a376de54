//! The same answers by looking at every minute, and the property that both agree.

use std::collections::BTreeSet;

use jiff::civil::DateTime;
use jiff::tz::{TimeZone, TimeZoneDatabase};
use jiff::{SignedDuration, Timestamp, ToSpan};
use proptest::prelude::*;

use super::Schedule;

/// How far ahead the slow way looks.
const MINUTES: i64 = 3 * 24 * 60;

/// Numbers of each field, as the text of the expression is made of them.
#[derive(Clone, Debug)]
struct Fields {
    minutes: BTreeSet<i8>,
    hours: BTreeSet<i8>,
    days: BTreeSet<i8>,
    weekdays: BTreeSet<i8>,
}

impl Fields {
    fn text(&self) -> String {
        let list = |numbers: &BTreeSet<i8>, all: usize| {
            if numbers.len() == all {
                return "*".to_owned();
            }
            numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
        };
        let (minutes, hours) = (list(&self.minutes, 60), list(&self.hours, 24));
        format!("{minutes} {hours} {} * {}", list(&self.days, 31), list(&self.weekdays, 7))
    }

    fn name(&self, shown: DateTime) -> bool {
        let day = self.days.contains(&shown.day());
        let weekday = self.weekdays.contains(&shown.weekday().to_sunday_zero_offset());
        let any_day = self.days.len() == 31 || self.weekdays.len() == 7;
        let today = if any_day { day && weekday } else { day || weekday };
        today && self.minutes.contains(&shown.minute()) && self.hours.contains(&shown.hour())
    }

    /// Whether it fires at this full minute, by the rules for changed clocks as they are written.
    fn fires(&self, zone: &TimeZone, minute: Timestamp) -> bool {
        let shown = zone.to_datetime(minute);
        if self.hours.len() == 24 {
            return self.name(shown);
        }
        let before = zone.to_datetime(minute - 1.minute());
        let first = zone.to_ambiguous_timestamp(shown).earlier().unwrap() == minute;
        let mut left_out = before + 1.minute();
        while left_out < shown {
            if self.name(left_out) {
                return true;
            }
            left_out += 1.minute();
        }
        first && self.name(shown)
    }
}

fn numbers(all: std::ops::RangeInclusive<i8>) -> impl Strategy<Value = BTreeSet<i8>> {
    let every: BTreeSet<i8> = all.clone().collect();
    prop_oneof![Just(every), prop::collection::btree_set(all, 1..4)]
}

fn fields() -> impl Strategy<Value = Fields> {
    // Mostly the hours in which clocks change.
    let hours = prop_oneof![
        Just((0..=23).collect()),
        prop::collection::btree_set(0..=4_i8, 1..4),
        prop::collection::btree_set(0..=23_i8, 1..4),
    ];
    (numbers(0..=59), hours, numbers(1..=31), numbers(0..=6))
        .prop_map(|(minutes, hours, days, weekdays)| Fields { minutes, hours, days, weekdays })
}

/// Days on which clocks change, in zones that do it each in their own way.
const CHANGES: [(&str, &str); 10] = [
    ("Europe/Berlin", "2026-03-29T00:00:00Z"),
    ("Europe/Berlin", "2026-10-25T00:00:00Z"),
    ("America/New_York", "2026-03-08T06:00:00Z"),
    ("America/New_York", "2026-11-01T05:00:00Z"),
    ("Australia/Lord_Howe", "2026-04-04T15:00:00Z"),
    ("Australia/Lord_Howe", "2026-10-03T15:00:00Z"),
    ("Africa/Cairo", "2026-04-23T22:00:00Z"),
    ("Africa/Cairo", "2026-10-29T21:00:00Z"),
    ("Pacific/Apia", "2011-12-30T10:00:00Z"),
    ("UTC", "2028-02-29T00:00:00Z"),
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 80, ..ProptestConfig::default() })]

    #[test]
    fn the_quick_way_and_the_slow_way_agree(
        fields in fields(),
        change in prop::sample::select(&CHANGES[..]),
        seconds in -100_000..100_000_i64,
    ) {
        let (name, day) = change;
        let zone = TimeZoneDatabase::bundled().get(name).unwrap();
        let start = day.parse::<Timestamp>().unwrap() + SignedDuration::from_secs(seconds);
        let full = start.as_second().div_euclid(60) * 60;
        let minutes = (1..MINUTES).map(|n| Timestamp::from_second(full + n * 60).unwrap());
        let slow: Vec<i64> = minutes
            .filter(|minute| fields.fires(&zone, *minute))
            .map(Timestamp::as_millisecond)
            .collect();
        let schedule = Schedule::parse(&fields.text(), name).unwrap();
        let of = stepwell_core::time::Timestamp::from_millis;
        let until = of((full + (MINUTES - 1) * 60) * 1000);
        let quick: Vec<i64> = schedule
            .between(of(start.as_millisecond()), until, usize::MAX)
            .into_iter()
            .map(stepwell_core::time::Timestamp::as_millis)
            .collect();
        prop_assert_eq!(quick, slow, "{} in {}", fields.text(), name);
    }

    // Whatever is written, the reader answers, and what it accepts goes forward in time.
    #[test]
    fn any_text_is_refused_or_fires_ever_later(
        text in "[0-9*/,LW#?A-Z@ -]{0,24}",
        start in 0..4_000_000_000_000_i64,
    ) {
        if let Ok(schedule) = Schedule::parse(&text, "Europe/Berlin") {
            let mut last = stepwell_core::time::Timestamp::from_millis(start);
            for _ in 0..5 {
                let Some(next) = schedule.next_after(last) else { break };
                prop_assert!(next > last);
                last = next;
            }
        }
    }
}
