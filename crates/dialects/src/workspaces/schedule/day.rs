//! Which days: by their number in the month, by their weekday, or by both.

use jiff::civil::{Date, Weekday};

use super::error::ScheduleError;
use super::field::{Piece, Set};

/// How many times a weekday can come in a month.
const WEEKS_MAX: u8 = 5;

/// The two fields that choose days.
#[derive(Clone, Debug, Default)]
pub(super) struct Days {
    day: DayOfMonth,
    weekday: DayOfWeek,
}

#[derive(Clone, Debug, Default)]
struct DayOfMonth {
    starred: bool,
    numbers: Set,
    /// `L`
    last: bool,
    /// `LW`
    last_workday: bool,
    /// `15W`: the workday nearest to each of these
    near: Set,
}

#[derive(Clone, Debug, Default)]
struct DayOfWeek {
    starred: bool,
    numbers: Set,
    /// `FRI#2`, as 5 times the weekday plus one less than which
    nth: Set,
    /// `FRIL`
    last: Set,
}

impl Days {
    pub(super) fn parse(day: Piece<'_>, weekday: Piece<'_>) -> Result<Self, ScheduleError> {
        Ok(Self { day: DayOfMonth::parse(day)?, weekday: DayOfWeek::parse(weekday)? })
    }

    /// If both fields are restricted, either is enough: so cron has always done it.
    pub(super) fn have(&self, date: Date) -> bool {
        let (day, weekday) = (self.day.has(date), self.weekday.has(date));
        if self.day.starred || self.weekday.starred { day && weekday } else { day || weekday }
    }
}

/// `?` is how some write that a field does not matter.
fn is_starred(field: &Piece<'_>) -> bool {
    field.text.starts_with(['*', '?'])
}

impl DayOfMonth {
    fn parse(field: Piece<'_>) -> Result<Self, ScheduleError> {
        let mut days = Self { starred: is_starred(&field), ..Self::default() };
        for item in field.items() {
            let upper = item.text.to_ascii_uppercase();
            match upper.as_str() {
                "L" => days.last = true,
                "LW" => days.last_workday = true,
                "?" => days.numbers = item.part("*", 0).numbers()?,
                _ => match item.text.strip_suffix(['w', 'W']) {
                    Some(near) => days.near.add(item.part(near, 0).value()?),
                    None => item.numbers()?.numbers().for_each(|day| days.numbers.add(day)),
                },
            }
        }
        Ok(days)
    }

    fn has(&self, date: Date) -> bool {
        let day = number(date.day());
        self.numbers.has(day)
            || (self.last && date.day() == date.days_in_month())
            || (self.last_workday && nearest_workday(date.last_of_month()) == date)
            || self.near.numbers().any(|near| is_near(date, near))
    }
}

impl DayOfWeek {
    fn parse(field: Piece<'_>) -> Result<Self, ScheduleError> {
        let mut days = Self { starred: is_starred(&field), ..Self::default() };
        for item in field.items() {
            if item.text == "?" {
                days.numbers = item.part("*", 0).numbers()?;
            } else if let Some((day, which)) = item.text.split_once('#') {
                let which = item.part(which, day.chars().count() + 1);
                days.nth.add(item.part(day, 0).value()? % 7 * WEEKS_MAX + nth(which)? - 1);
            } else if let Some(day) =
                item.text.strip_suffix(['l', 'L']).filter(|day| !day.is_empty())
            {
                days.last.add(item.part(day, 0).value()? % 7);
            } else {
                item.numbers()?.numbers().for_each(|day| days.numbers.add(day % 7));
            }
        }
        Ok(days)
    }

    fn has(&self, date: Date) -> bool {
        let weekday = number(date.weekday().to_sunday_zero_offset());
        let week = number((date.day() - 1) / 7);
        self.numbers.has(weekday)
            || self.nth.has(weekday * WEEKS_MAX + week)
            || (self.last.has(weekday) && date.day() > date.days_in_month() - 7)
    }
}

fn nth(which: Piece<'_>) -> Result<u8, ScheduleError> {
    let number = which.text.parse().ok().filter(|number| (1..=WEEKS_MAX).contains(number));
    number.ok_or_else(|| {
        which.fault(
            format!("`{}` is no week of a month", which.text),
            "write 1 to 5 after the #, such as FRI#2 for the second Friday",
        )
    })
}

fn is_near(date: Date, near: u8) -> bool {
    let same_month = Date::new(date.year(), date.month(), i8::try_from(near).unwrap_or(i8::MAX));
    same_month.is_ok_and(|wanted| nearest_workday(wanted) == date)
}

/// The Monday to Friday nearest to a day, without leaving its month.
fn nearest_workday(date: Date) -> Date {
    let shift = match date.weekday() {
        Weekday::Saturday if date.day() == 1 => 2,
        Weekday::Saturday => -1,
        Weekday::Sunday if date.day() == date.days_in_month() => -2,
        Weekday::Sunday => 1,
        _ => 0,
    };
    date.with().day(date.day() + shift).build().expect("a month has a workday within two days")
}

/// Days and weekdays are small and not negative.
fn number(number: i8) -> u8 {
    number.unsigned_abs()
}
