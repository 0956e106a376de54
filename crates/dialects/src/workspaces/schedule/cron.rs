//! A cron expression: which times of a clock it names, whatever place the clock is in.

use jiff::civil::{Date, DateTime, Time, date};

use super::day::Days;
use super::error::ScheduleError;
use super::field::{Field, Piece, Set};

/// No moment after this year can be stored.
const LAST_YEAR: i16 = 2199;

/// Enough for a thousand times in a field, and nothing that keeps a reader busy.
const LENGTH_MAX: usize = 1024;

/// A cron expression.
#[derive(Clone, Debug)]
pub(super) struct Cron {
    seconds: Set,
    minutes: Set,
    hours: Set,
    months: Set,
    days: Days,
}

impl Cron {
    pub(super) fn parse(text: &str) -> Result<Self, ScheduleError> {
        if text.len() > LENGTH_MAX {
            let message = format!("the expression is longer than {LENGTH_MAX} characters");
            return Err(ScheduleError::whole(message, "write ranges in place of long lists"));
        }
        let text = long_form(text)?;
        let pieces = pieces(text);
        let [second, minute, hour, day, month, weekday] = fields(&pieces)?;
        let cron = Self {
            seconds: numbers(second)?,
            minutes: numbers(minute)?,
            hours: numbers(hour)?,
            months: numbers(month)?,
            days: Days::parse(day, weekday)?,
        };
        // In 200 years every kind of day has come that ever comes.
        match cron.first_date(date(2000, 1, 1)) {
            Some(_) => Ok(cron),
            None => Err(ScheduleError::whole(
                "the expression never fires: no month that it names has such a day",
                "correct the day or the month",
            )),
        }
    }

    /// It fires so many times an hour, in every hour.
    pub(super) fn names_every_hour(&self) -> bool {
        (0..24).all(|hour| self.hours.has(hour))
    }

    /// The first time later than this one.
    pub(super) fn next_after(&self, shown: DateTime) -> Option<DateTime> {
        let second = shown.with().subsec_nanosecond(0).build().ok()?;
        self.next_from(second.checked_add(jiff::SignedDuration::from_secs(1)).ok()?)
    }

    /// The first time not earlier than this one, which has whole seconds.
    pub(super) fn next_from(&self, shown: DateTime) -> Option<DateTime> {
        let today = shown.date();
        if self.has(today)
            && let Some(time) = self.first_time(shown.time())
        {
            return Some(today.to_datetime(time));
        }
        let day = self.first_date(today.tomorrow().ok()?)?;
        Some(day.to_datetime(self.first_time(Time::midnight())?))
    }

    fn first_time(&self, from: Time) -> Option<Time> {
        let [hour, minute, second] =
            [from.hour(), from.minute(), from.second()].map(i8::unsigned_abs);
        let in_hour = self.hours.has(hour);
        let in_minute = in_hour && self.minutes.has(minute);
        let this_minute = || Some((hour, minute, self.seconds.first_from(second)?));
        let this_hour =
            || Some((hour, self.minutes.first_from(minute + 1)?, self.seconds.first_from(0)?));
        let later = || {
            let hour = self.hours.first_from(hour + 1)?;
            Some((hour, self.minutes.first_from(0)?, self.seconds.first_from(0)?))
        };
        let this_minute = in_minute.then(this_minute).flatten();
        let found = this_minute.or_else(|| in_hour.then(this_hour).flatten()).or_else(later);
        let (hour, minute, second) = found?;
        let small = |number| i8::try_from(number).ok();
        Time::new(small(hour)?, small(minute)?, small(second)?, 0).ok()
    }

    fn first_date(&self, mut day: Date) -> Option<Date> {
        while day.year() <= LAST_YEAR {
            if self.has(day) {
                return Some(day);
            }
            day = if self.months.has(day.month().unsigned_abs()) {
                day.tomorrow().ok()?
            } else {
                day.last_of_month().tomorrow().ok()?
            };
        }
        None
    }

    fn has(&self, day: Date) -> bool {
        self.months.has(day.month().unsigned_abs()) && self.days.have(day)
    }
}

/// The expression that a short form stands for; others stand for themselves.
fn long_form(text: &str) -> Result<&str, ScheduleError> {
    let name = text.trim();
    if !name.starts_with('@') {
        return Ok(text);
    }
    match name.to_ascii_lowercase().as_str() {
        "@hourly" => Ok("0 * * * *"),
        "@daily" | "@midnight" => Ok("0 0 * * *"),
        "@weekly" => Ok("0 0 * * 0"),
        "@monthly" => Ok("0 0 1 * *"),
        "@yearly" | "@annually" => Ok("0 0 1 1 *"),
        _ => Err(ScheduleError::whole(
            format!("`{name}` is no short form"),
            "write @hourly, @daily, @weekly, @monthly, @yearly, or five fields",
        )),
    }
}

/// What stands between blanks, each with the character it begins at, counted from 1.
fn pieces(text: &str) -> Vec<(usize, &str)> {
    let mut column = 1;
    let mut pieces = Vec::new();
    for piece in text.split([' ', '\t']) {
        if !piece.is_empty() {
            pieces.push((column, piece));
        }
        column += piece.chars().count() + 1;
    }
    pieces
}

fn fields<'a>(pieces: &[(usize, &'a str)]) -> Result<[Piece<'a>; 6], ScheduleError> {
    let pieces: Vec<_> = match pieces.len() {
        // Without seconds it fires at the full minute.
        5 => std::iter::once((1, "0")).chain(pieces.iter().copied()).collect(),
        6 => pieces.to_vec(),
        found => {
            return Err(ScheduleError::whole(
                format!("the expression has {found} fields"),
                "write `minute hour day month weekday`, or six fields with seconds first",
            ));
        }
    };
    let mut fields = Field::ALL.into_iter().zip(pieces).map(|(field, (column, text))| Piece {
        field,
        text,
        column,
    });
    Ok(std::array::from_fn(|_| fields.next().expect("there are six of both")))
}

fn numbers(field: Piece<'_>) -> Result<Set, ScheduleError> {
    let mut all = Set::default();
    for item in field.items() {
        item.numbers()?.numbers().for_each(|number| all.add(number));
    }
    assert!(!all.is_empty(), "an item names at least one number");
    Ok(all)
}
