//! What is wrong with a schedule, where, and what to write instead.

use std::fmt;

use super::field::Field;

/// The part of a schedule that is at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchedulePart {
    /// The cron expression.
    Cron,
    /// The name of the time zone.
    TimeZone,
}

/// What is wrong with a schedule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ScheduleError {
    /// the part that is at fault
    pub part: SchedulePart,
    /// the field of the expression, unless it is the expression as a whole
    pub field: Option<Field>,
    /// the character of the expression at which the fault begins, counted from 1
    pub column: Option<usize>,
    /// what is wrong
    pub message: String,
    /// what to write instead
    pub help: String,
}

impl fmt::Display for ScheduleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.field, self.column) {
            (Some(field), Some(column)) => {
                write!(f, "{field}, at character {column}: ")?;
            }
            (Some(field), None) => write!(f, "{field}: ")?,
            (None, _) => {}
        }
        write!(f, "{}; {}", self.message, self.help)
    }
}

impl ScheduleError {
    /// A fault of the expression as a whole.
    pub(super) fn whole(message: impl Into<String>, help: impl Into<String>) -> Self {
        let (message, help) = (message.into(), help.into());
        Self { part: SchedulePart::Cron, field: None, column: None, message, help }
    }

    pub(super) fn unknown_zone(name: &str) -> Self {
        Self {
            part: SchedulePart::TimeZone,
            field: None,
            column: None,
            message: format!("no time zone is called `{name}`"),
            help: "write its IANA name, such as Europe/Berlin or UTC".to_owned(),
        }
    }
}
