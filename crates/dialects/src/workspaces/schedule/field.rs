//! One field of a cron expression: the numbers it names.

use std::fmt;

use super::error::{ScheduleError, SchedulePart};

/// A field of a cron expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// 0 to 59, only with six fields
    Second,
    /// 0 to 59
    Minute,
    /// 0 to 23
    Hour,
    /// 1 to 31, the day of the month
    Day,
    /// 1 to 12, or a name
    Month,
    /// 0 to 7, or a name; Sunday is both 0 and 7
    Weekday,
}

const MONTHS: [&str; 12] =
    ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const WEEKDAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

impl Field {
    /// In the order they are written, seconds included.
    pub(super) const ALL: [Self; 6] =
        [Self::Second, Self::Minute, Self::Hour, Self::Day, Self::Month, Self::Weekday];

    fn word(self) -> &'static str {
        match self {
            Self::Second => "second",
            Self::Minute => "minute",
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Month => "month",
            Self::Weekday => "weekday",
        }
    }

    pub(super) fn first(self) -> u8 {
        match self {
            Self::Second | Self::Minute | Self::Hour | Self::Weekday => 0,
            Self::Day | Self::Month => 1,
        }
    }

    pub(super) fn last(self) -> u8 {
        match self {
            Self::Second | Self::Minute => 59,
            Self::Hour => 23,
            Self::Day => 31,
            Self::Month => 12,
            Self::Weekday => 7,
        }
    }

    fn named(self, text: &str) -> Option<u8> {
        let (names, first): (&[&str], u8) = match self {
            Self::Month => (&MONTHS, 1),
            Self::Weekday => (&WEEKDAYS, 0),
            Self::Second | Self::Minute | Self::Hour | Self::Day => return None,
        };
        (first..).zip(names).find(|(_, name)| text.eq_ignore_ascii_case(name)).map(|(n, _)| n)
    }

    fn expected(self) -> String {
        let numbers = format!("a {self} is {} to {}", self.first(), self.last());
        match self {
            Self::Month => format!("{numbers}, or JAN to DEC"),
            Self::Weekday => format!("{numbers} with 0 and 7 for Sunday, or SUN to SAT"),
            Self::Second | Self::Minute | Self::Hour | Self::Day => numbers,
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Small numbers, as the bits of a word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Set(u64);

impl Set {
    pub(super) fn add(&mut self, number: u8) {
        self.0 |= 1 << number;
    }

    pub(super) fn has(self, number: u8) -> bool {
        self.0 >> number & 1 == 1
    }

    /// The smallest number that is not below `from`.
    pub(super) fn first_from(self, from: u8) -> Option<u8> {
        let rest = self.0.checked_shr(u32::from(from)).filter(|rest| *rest != 0)?;
        u8::try_from(rest.trailing_zeros()).ok().map(|zeros| from + zeros)
    }

    pub(super) fn numbers(self) -> impl Iterator<Item = u8> {
        (0..64).filter(move |number| self.has(*number))
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// A piece of an expression and where it stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece<'a> {
    pub(super) field: Field,
    pub(super) text: &'a str,
    /// of its first character, counted from 1
    pub(super) column: usize,
}

impl<'a> Piece<'a> {
    /// The same with another text, which begins `chars` characters later.
    pub(super) fn part(self, text: &'a str, chars: usize) -> Self {
        Self { text, column: self.column + chars, ..self }
    }

    /// The parts of a list.
    pub(super) fn items(self) -> impl Iterator<Item = Piece<'a>> {
        let mut chars = 0;
        self.text.split(',').map(move |text| {
            let item = self.part(text, chars);
            chars += text.chars().count() + 1;
            item
        })
    }

    pub(super) fn fault(
        self,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> ScheduleError {
        ScheduleError {
            part: SchedulePart::Cron,
            field: Some(self.field),
            column: Some(self.column),
            message: message.into(),
            help: help.into(),
        }
    }

    /// One number, or the name of one.
    pub(super) fn value(self) -> Result<u8, ScheduleError> {
        let Self { field, text, .. } = self;
        if text.is_empty() {
            return Err(self.fault("a value is missing", field.expected()));
        }
        if let Some(number) = field.named(text) {
            return Ok(number);
        }
        // A sign would be read as part of a number.
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        match text.parse::<u8>().ok().filter(|_| digits) {
            Some(number) if (field.first()..=field.last()).contains(&number) => Ok(number),
            Some(_) => Err(self.fault(format!("`{text}` is out of range"), field.expected())),
            None => Err(self.fault(format!("`{text}` is no {field}"), field.expected())),
        }
    }

    /// `*`, a value or a range, each with a step if there is one.
    pub(super) fn numbers(self) -> Result<Set, ScheduleError> {
        let (range, step) = match self.text.split_once('/') {
            Some((range, step)) => (range, Some(self.part(step, range.chars().count() + 1))),
            None => (self.text, None),
        };
        let (from, until) = self.part(range, 0).range(step.is_some())?;
        let step = step.map_or(Ok(1), |step| step.step())?;
        let mut set = Set::default();
        (from..=until).step_by(step).for_each(|number| set.add(number));
        Ok(set)
    }

    fn range(self, stepped: bool) -> Result<(u8, u8), ScheduleError> {
        let field = self.field;
        if self.text == "*" {
            // Sunday is the first day of the week here, not the last one as well.
            let last = if field == Field::Weekday { 6 } else { field.last() };
            return Ok((field.first(), last));
        }
        let Some((from, until)) = self.text.split_once('-') else {
            let value = self.value()?;
            return Ok((value, if stepped { field.last() } else { value }));
        };
        let until = self.part(until, from.chars().count() + 1);
        let from = self.part(from, 0).value()?;
        // `SAT-SUN` ends with the Sunday that follows.
        let last = until.value()?;
        let last = if field == Field::Weekday && last == 0 && from > 0 { 7 } else { last };
        if from > last {
            let help = format!(
                "write two ranges, such as {from}-{},{}-{last}",
                field.last(),
                field.first()
            );
            return Err(
                self.fault(format!("the range `{}` ends before it begins", self.text), help)
            );
        }
        Ok((from, last))
    }

    fn step(self) -> Result<usize, ScheduleError> {
        let most = self.field.last();
        let digits = self.text.bytes().all(|byte| byte.is_ascii_digit());
        match self.text.parse::<u8>().ok().filter(|step| digits && (1..=most).contains(step)) {
            Some(step) => Ok(usize::from(step)),
            // A step beyond the field would silently mean "once", which nobody who writes it expects.
            None => Err(self.fault(
                format!("`{}` is no step", self.text),
                format!("a step of the {} is a number from 1 to {most}", self.field),
            )),
        }
    }
}
