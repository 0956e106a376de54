//! Writing results: data to standard output, everything else to standard error.

use std::io::{self, IsTerminal, Write};

use comfy_table::{Cell, Color, ColumnConstraint, ContentArrangement, Table, presets};
use jiff::Timestamp;
use serde_json::Value;

use crate::failure::Failure;
use crate::moment;

/// Writes results in the format that was asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Printer {
    json: bool,
    color: bool,
}

/// A column of a table: its title, and where its value stands in an item.
pub(crate) type Column = (&'static str, &'static str);

impl Printer {
    /// A printer of JSON or of tables.
    pub(crate) fn new(json: bool) -> Self {
        let color = io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        Self { json, color }
    }

    /// Whether results are for programs.
    pub(crate) fn is_json(self) -> bool {
        self.json
    }

    /// Whether somebody looks on, so that a line may be drawn again.
    pub(crate) fn is_live(self) -> bool {
        !self.json && io::stderr().is_terminal()
    }

    /// Writes an answer of the server as it is, if results are for programs; else calls `people`.
    pub(crate) fn answer(self, value: &Value, people: impl FnOnce(&Value)) {
        if self.json { self.value(value) } else { people(value) }
    }

    /// Writes one value as JSON over several lines.
    pub(crate) fn value(self, value: &Value) {
        out(&format!("{value:#}"));
    }

    /// Writes one value as one line of JSON.
    pub(crate) fn json_line(self, value: &Value) {
        out(&value.to_string());
    }

    /// Writes a line of data.
    pub(crate) fn line(self, text: &str) {
        out(text);
    }

    /// Tells people something that is not data.
    pub(crate) fn note(self, text: &str) {
        let _ = writeln!(io::stderr(), "{text}");
    }

    /// Writes a list of objects as a table.
    pub(crate) fn list(self, items: &[Value], columns: &[Column]) {
        let rows = items.iter().map(|item| columns.iter().map(|(_, path)| cell(item, path)));
        let titles = columns.iter().map(|(title, _)| *title);
        self.table(titles, rows.map(Iterator::collect));
    }

    /// Writes a table.
    pub(crate) fn table<'t>(
        self,
        titles: impl IntoIterator<Item = &'t str>,
        rows: impl IntoIterator<Item = Vec<String>>,
    ) {
        let mut table = Table::new();
        table.load_style(presets::NOTHING).set_header(titles);
        if self.color {
            // Cells wrap to the terminal; a pipe gets every row on a line of its own.
            table.set_content_arrangement(ContentArrangement::Dynamic);
        }
        for row in rows {
            table.add_row(row.into_iter().map(|text| self.colored(text)));
        }
        let is_words: Vec<bool> = table
            .column_iter()
            .map(|column| table.column_cells_iter(column.index).flatten().all(is_word))
            .collect();
        for (column, is_words) in table.column_iter_mut().zip(is_words) {
            column.set_padding((0, 2));
            if is_words {
                // An id that is broken over two lines cannot be copied.
                column.set_constraint(ColumnConstraint::ContentWidth);
            }
        }
        for line in table.lines() {
            out(line.trim_end());
        }
    }

    /// Writes one object as lines of name and value; what is missing is left out.
    pub(crate) fn object(self, item: &Value, fields: &[Column]) {
        let shown: Vec<Vec<String>> = fields
            .iter()
            .map(|(title, path)| vec![(*title).to_owned(), cell(item, path)])
            .filter(|row| !row[1].is_empty())
            .collect();
        let width = shown.iter().map(|row| row[0].len()).max().unwrap_or(0);
        for row in shown {
            out(&format!("{:width$}  {}", row[0], row[1]));
        }
    }

    /// Writes a failure where failures belong.
    pub(crate) fn failure(self, failure: &Failure) {
        if self.json {
            let _ = writeln!(io::stderr(), "{}", failure.to_json());
        } else {
            let _ = writeln!(io::stderr(), "{failure}");
        }
    }

    fn colored(self, text: String) -> Cell {
        let color = match text.as_str() {
            "SUCCEEDED" | "succeeded" | "completed" | "done" | "ok" => Some(Color::Green),
            "FAILED_FINAL" | "FAILED_RETRYABLE" | "TIMED_OUT" | "failed" | "dead"
            | "poll_timeout" => Some(Color::Red),
            "CANCELLED" | "CANCELLING" | "cancelled" | "canceled" | "removed" | "refused" => {
                Some(Color::Yellow)
            }
            "IN_PROGRESS" | "PROCESSING" | "INITIATED" | "active" | "init_dispatched"
            | "dispatched" | "polling" | "running" => Some(Color::Cyan),
            _ => None,
        };
        match color.filter(|_| self.color) {
            Some(color) => Cell::new(text).fg(color),
            None => Cell::new(text),
        }
    }
}

fn is_word(cell: &Cell) -> bool {
    !cell.content().contains(char::is_whitespace)
}

/// The value at a path such as `error.code`, as text. Times are shown relative and exact.
pub(crate) fn cell(item: &Value, path: &str) -> String {
    let found = path.split('.').try_fold(item, |value, key| value.get(key));
    match found {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) if is_moment(path) => moment::shown(text, Timestamp::now()),
        Some(Value::Number(number)) if is_moment(path) => {
            let moment = number.as_i64().and_then(|seconds| Timestamp::from_second(seconds).ok());
            moment.map_or_else(|| number.to_string(), |it| moment::told(it, Timestamp::now()))
        }
        Some(Value::String(text)) => printable(text),
        Some(value) => value.to_string(),
    }
}

fn is_moment(path: &str) -> bool {
    path.ends_with("_at")
        || path.ends_with("_time")
        || path == "at"
        || path == "until"
        || path.ends_with(".at")
}

/// Text from elsewhere without what would move the cursor or change the terminal.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' { '\u{fffd}' } else { c }).collect()
}

/// A reader that has gone away (`| head`) is no reason to complain.
fn out(text: &str) {
    let _ = writeln!(io::stdout(), "{text}");
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // C-041: on the wire seconds since 1970, for people a time.
    #[test]
    fn a_time_that_travels_as_a_number_is_shown_as_a_time() {
        let job = json!({ "ttl_at": 1_796_389_118, "attempts": 3, "updated_at": "soon" });
        assert!(
            cell(&job, "ttl_at").ends_with("· 2026-12-04 12:58:38Z"),
            "{}",
            cell(&job, "ttl_at")
        );
        assert_eq!(cell(&job, "attempts"), "3");
        assert_eq!(cell(&job, "updated_at"), "soon");
    }
}
