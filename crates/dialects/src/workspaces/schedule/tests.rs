//! Schedules: what fires when, through changed clocks, and what is refused.

use expect_test::{Expect, expect};
use stepwell_core::time::Timestamp;

use super::{Schedule, SchedulePart};
use crate::moment;

fn at(text: &str) -> Timestamp {
    moment::parse(text).expect(text).0
}

/// The firings after a moment, as the clock of the place shows them.
#[track_caller]
fn check(cron: &str, zone: &str, from: &str, count: usize, expected: Expect) {
    let schedule = Schedule::parse(cron, zone).unwrap();
    let firings = schedule.between(at(from), Timestamp::from_millis(i64::MAX), count);
    let shown = firings.iter().map(|firing| {
        let moment = jiff::Timestamp::from_millisecond(firing.as_millis()).unwrap();
        format!("{}\n", moment.to_zoned(schedule.zone.clone()).strftime("%a %F %T %:z"))
    });
    expected.assert_eq(&shown.collect::<String>());
}

#[track_caller]
fn check_refused(cron: &str, expected: Expect) {
    let error = Schedule::parse(cron, "UTC").unwrap_err();
    assert_eq!(error.part, SchedulePart::Cron);
    expected.assert_eq(&error.to_string());
}

#[test]
fn a_time_that_does_not_exist_fires_once_right_after_the_gap() {
    check(
        "30 2 * * *",
        "Europe/Berlin",
        "2026-03-28T00:00:00Z",
        3,
        expect![[r#"
        Sat 2026-03-28 02:30:00 +01:00
        Sun 2026-03-29 03:00:00 +02:00
        Mon 2026-03-30 02:30:00 +02:00
    "#]],
    );
    check(
        "*/10 2 * * *",
        "America/New_York",
        "2026-03-08T00:00:00Z",
        2,
        expect![[r#"
        Sun 2026-03-08 03:00:00 -04:00
        Mon 2026-03-09 02:00:00 -04:00
    "#]],
    );
    // The time right after the gap is asked for as well: they are one firing.
    check(
        "0 2,3 * * *",
        "Europe/Berlin",
        "2026-03-29T00:00:00Z",
        2,
        expect![[r#"
        Sun 2026-03-29 03:00:00 +02:00
        Mon 2026-03-30 02:00:00 +02:00
    "#]],
    );
    // Half an hour is left out.
    check(
        "15 2 * * *",
        "Australia/Lord_Howe",
        "2026-10-03T00:00:00Z",
        2,
        expect![[r#"
        Sun 2026-10-04 02:30:00 +11:00
        Mon 2026-10-05 02:15:00 +11:00
    "#]],
    );
}

#[test]
fn a_time_that_exists_twice_fires_once_at_the_first() {
    check(
        "30 2 * * *",
        "Europe/Berlin",
        "2026-10-24T12:00:00Z",
        2,
        expect![[r#"
        Sun 2026-10-25 02:30:00 +02:00
        Mon 2026-10-26 02:30:00 +01:00
    "#]],
    );
    check(
        "30 1 * * *",
        "America/New_York",
        "2026-10-31T12:00:00Z",
        2,
        expect![[r#"
        Sun 2026-11-01 01:30:00 -04:00
        Mon 2026-11-02 01:30:00 -05:00
    "#]],
    );
    check(
        "45 1 * * *",
        "Australia/Lord_Howe",
        "2026-04-04T12:00:00Z",
        2,
        expect![[r#"
        Sun 2026-04-05 01:45:00 +11:00
        Mon 2026-04-06 01:45:00 +10:30
    "#]],
    );
    // Asked between the two, the first is past and the second is none.
    check(
        "30 2 * * *",
        "Europe/Berlin",
        "2026-10-25T00:45:00Z",
        1,
        expect![[r#"
        Mon 2026-10-26 02:30:00 +01:00
    "#]],
    );
}

#[test]
fn every_so_many_minutes_follows_elapsed_time_through_both_changes() {
    check(
        "*/30 * * * *",
        "Europe/Berlin",
        "2026-03-29T00:00:00Z",
        4,
        expect![[r#"
        Sun 2026-03-29 01:30:00 +01:00
        Sun 2026-03-29 03:00:00 +02:00
        Sun 2026-03-29 03:30:00 +02:00
        Sun 2026-03-29 04:00:00 +02:00
    "#]],
    );
    check(
        "*/30 * * * *",
        "Europe/Berlin",
        "2026-10-25T00:00:00Z",
        5,
        expect![[r#"
        Sun 2026-10-25 02:30:00 +02:00
        Sun 2026-10-25 02:00:00 +01:00
        Sun 2026-10-25 02:30:00 +01:00
        Sun 2026-10-25 03:00:00 +01:00
        Sun 2026-10-25 03:30:00 +01:00
    "#]],
    );
    check(
        "0 * * * *",
        "America/New_York",
        "2026-11-01T04:30:00Z",
        4,
        expect![[r#"
        Sun 2026-11-01 01:00:00 -04:00
        Sun 2026-11-01 01:00:00 -05:00
        Sun 2026-11-01 02:00:00 -05:00
        Sun 2026-11-01 03:00:00 -05:00
    "#]],
    );
    check(
        "*/15 * * * *",
        "Australia/Lord_Howe",
        "2026-04-04T14:15:00Z",
        6,
        expect![[r#"
        Sun 2026-04-05 01:30:00 +11:00
        Sun 2026-04-05 01:45:00 +11:00
        Sun 2026-04-05 01:30:00 +10:30
        Sun 2026-04-05 01:45:00 +10:30
        Sun 2026-04-05 02:00:00 +10:30
        Sun 2026-04-05 02:15:00 +10:30
    "#]],
    );
}

#[test]
fn leap_days_and_ends_of_years_come_when_they_come() {
    check(
        "0 0 29 2 *",
        "UTC",
        "2026-01-01T00:00:00Z",
        3,
        expect![[r#"
        Tue 2028-02-29 00:00:00 +00:00
        Sun 2032-02-29 00:00:00 +00:00
        Fri 2036-02-29 00:00:00 +00:00
    "#]],
    );
    // 2100 is no leap year.
    check(
        "0 0 29 2 *",
        "UTC",
        "2096-03-01T00:00:00Z",
        1,
        expect![[r#"
        Fri 2104-02-29 00:00:00 +00:00
    "#]],
    );
    check(
        "59 59 23 31 12 *",
        "America/New_York",
        "2026-01-01T00:00:00Z",
        2,
        expect![[r#"
        Wed 2025-12-31 23:59:59 -05:00
        Thu 2026-12-31 23:59:59 -05:00
    "#]],
    );
    check(
        "*/20 * * * * *",
        "UTC",
        "2026-12-31T23:59:30Z",
        3,
        expect![[r#"
        Thu 2026-12-31 23:59:40 +00:00
        Fri 2027-01-01 00:00:00 +00:00
        Fri 2027-01-01 00:00:20 +00:00
    "#]],
    );
    check(
        "0 0 31 * *",
        "UTC",
        "2026-01-31T00:00:00Z",
        3,
        expect![[r#"
        Tue 2026-03-31 00:00:00 +00:00
        Sun 2026-05-31 00:00:00 +00:00
        Fri 2026-07-31 00:00:00 +00:00
    "#]],
    );
}

#[test]
fn days_are_chosen_by_number_or_by_weekday() {
    check(
        "0 9 13 * FRI",
        "UTC",
        "2026-02-10T00:00:00Z",
        4,
        expect![[r#"
        Fri 2026-02-13 09:00:00 +00:00
        Fri 2026-02-20 09:00:00 +00:00
        Fri 2026-02-27 09:00:00 +00:00
        Fri 2026-03-06 09:00:00 +00:00
    "#]],
    );
    check(
        "0 9 * * MON-FRI",
        "UTC",
        "2026-02-13T10:00:00Z",
        2,
        expect![[r#"
        Mon 2026-02-16 09:00:00 +00:00
        Tue 2026-02-17 09:00:00 +00:00
    "#]],
    );
    check(
        "0 9 * * SAT-SUN",
        "UTC",
        "2026-02-13T10:00:00Z",
        3,
        expect![[r#"
        Sat 2026-02-14 09:00:00 +00:00
        Sun 2026-02-15 09:00:00 +00:00
        Sat 2026-02-21 09:00:00 +00:00
    "#]],
    );
    check(
        "0 9 * * 7",
        "UTC",
        "2026-02-13T10:00:00Z",
        2,
        expect![[r#"
        Sun 2026-02-15 09:00:00 +00:00
        Sun 2026-02-22 09:00:00 +00:00
    "#]],
    );
}

#[test]
fn days_are_chosen_from_the_end_or_near_or_by_their_count() {
    check(
        "0 9 L * ?",
        "UTC",
        "2026-02-13T10:00:00Z",
        3,
        expect![[r#"
        Sat 2026-02-28 09:00:00 +00:00
        Tue 2026-03-31 09:00:00 +00:00
        Thu 2026-04-30 09:00:00 +00:00
    "#]],
    );
    check(
        "0 9 1W,LW * *",
        "UTC",
        "2026-08-01T00:00:00Z",
        4,
        expect![[r#"
        Mon 2026-08-03 09:00:00 +00:00
        Mon 2026-08-31 09:00:00 +00:00
        Tue 2026-09-01 09:00:00 +00:00
        Wed 2026-09-30 09:00:00 +00:00
    "#]],
    );
    check(
        "0 9 * * FRI#2,MONL",
        "UTC",
        "2026-02-01T00:00:00Z",
        4,
        expect![[r#"
        Fri 2026-02-13 09:00:00 +00:00
        Mon 2026-02-23 09:00:00 +00:00
        Fri 2026-03-13 09:00:00 +00:00
        Mon 2026-03-30 09:00:00 +00:00
    "#]],
    );
}

#[test]
fn a_moment_is_shown_as_the_clock_of_the_place_has_it() {
    let schedule = Schedule::parse("@daily", "America/New_York").unwrap();
    assert_eq!(schedule.shown(at("2026-03-08T06:59:59Z")), "2026-03-08T01:59:59-05:00");
    assert_eq!(schedule.shown(at("2026-03-08T07:00:00Z")), "2026-03-08T03:00:00-04:00");
}

#[test]
fn short_forms_stand_for_their_fields() {
    for (short, long) in [
        ("@hourly", "0 * * * *"),
        ("@daily", "0 0 * * *"),
        ("@midnight", "0 0 * * *"),
        ("@weekly", "0 0 * * SUN"),
        ("@monthly", "0 0 1 * *"),
        ("@yearly", "0 0 1 1 *"),
        (" @Annually ", "0 0 1 JAN *"),
        ("0 8-18/5 * * *", "0 8,13,18 * * *"),
        ("5/20 * * * *", "5,25,45 * * * *"),
    ] {
        let of = |cron| {
            let schedule = Schedule::parse(cron, "Asia/Tokyo").unwrap();
            schedule.between(at("2026-02-03T00:00:00Z"), at("2030-01-01T00:00:00Z"), 50)
        };
        assert_eq!(of(short), of(long), "{short}");
    }
}

#[test]
fn a_fault_is_named_with_its_field_its_place_and_the_way_out() {
    check_refused(
        "61 * * * *",
        expect!["minute, at character 1: `61` is out of range; a minute is 0 to 59"],
    );
    check_refused("0 0 1,2,x * *", expect!["day, at character 9: `x` is no day; a day is 1 to 31"]);
    check_refused(
        "0 22-2 * * *",
        expect![
            "hour, at character 3: the range `22-2` ends before it begins; write two ranges, such as 22-23,0-2"
        ],
    );
    check_refused(
        "*/90 * * * *",
        expect![
            "minute, at character 3: `90` is no step; a step of the minute is a number from 1 to 59"
        ],
    );
    check_refused(
        "*/0 * * * *",
        expect![
            "minute, at character 3: `0` is no step; a step of the minute is a number from 1 to 59"
        ],
    );
    check_refused(
        "0 0 * * FRI#6",
        expect![
            "weekday, at character 13: `6` is no week of a month; write 1 to 5 after the #, such as FRI#2 for the second Friday"
        ],
    );
    check_refused(
        "0 0 * *",
        expect![
            "the expression has 4 fields; write `minute hour day month weekday`, or six fields with seconds first"
        ],
    );
    check_refused(
        "0 0 0 1 1 * 2027",
        expect![
            "the expression has 7 fields; write `minute hour day month weekday`, or six fields with seconds first"
        ],
    );
    check_refused(
        "@reboot",
        expect![
            "`@reboot` is no short form; write @hourly, @daily, @weekly, @monthly, @yearly, or five fields"
        ],
    );
    check_refused(
        "1,,2 * * * *",
        expect!["minute, at character 3: a value is missing; a minute is 0 to 59"],
    );
    check_refused(
        "+5 * * * *",
        expect!["minute, at character 1: `+5` is no minute; a minute is 0 to 59"],
    );
    check_refused(
        "",
        expect![
            "the expression has 0 fields; write `minute hour day month weekday`, or six fields with seconds first"
        ],
    );
}

#[test]
fn an_expression_that_never_fires_is_refused_at_once() {
    check_refused(
        "0 0 30 2 *",
        expect![
            "the expression never fires: no month that it names has such a day; correct the day or the month"
        ],
    );
    check_refused(
        "0 0 31 4,6,9,11 *",
        expect![
            "the expression never fires: no month that it names has such a day; correct the day or the month"
        ],
    );
    check_refused(
        "0 0 31W 2 *",
        expect![
            "the expression never fires: no month that it names has such a day; correct the day or the month"
        ],
    );
    // A fifth Friday in February is rare, not impossible.
    check(
        "0 0 * 2 FRI#5",
        "UTC",
        "2026-01-01T00:00:00Z",
        2,
        expect![[r#"
        Fri 2036-02-29 00:00:00 +00:00
        Fri 2064-02-29 00:00:00 +00:00
    "#]],
    );
}

#[test]
fn an_unknown_time_zone_is_refused() {
    let error = Schedule::parse("@daily", "Europe/Atlantis").unwrap_err();
    assert_eq!(error.part, SchedulePart::TimeZone);
    expect!["no time zone is called `Europe/Atlantis`; write its IANA name, such as Europe/Berlin or UTC"].assert_eq(&error.to_string());
}

#[test]
fn a_hundred_years_are_bounded_and_the_end_of_time_is_no_firing() {
    let schedule = Schedule::parse("0 12 * * *", "America/New_York").unwrap();
    let century = schedule.between(at("2026-01-01T00:00:00Z"), at("2126-01-01T00:00:00Z"), 100_000);
    assert_eq!(century.len(), 36_524);
    assert!(century.is_sorted());
    assert_eq!(schedule.next_after(at("2199-12-31T23:00:00Z")), None);
    assert_eq!(schedule.next_after(Timestamp::from_millis(i64::MAX)), None);
}
