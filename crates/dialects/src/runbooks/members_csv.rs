//! A list of members as CSV, for a batch that a person makes (A-130, A-134).
//!
//! The whole list is judged before anything comes of it, and every fault is reported with its line:
//! whoever corrects 20,000 lines by hand wants to do it once. Members are not kept but read again one
//! by one, so that a list takes little more memory than its text.

mod header;
mod lines;

use std::collections::BTreeMap;

use csv::{ReaderBuilder, StringRecord};
use serde_json::{Map, Value};

use self::header::Header;
use self::lines::Lines;
use super::document::Runbook;
use super::rows::{MemberRow, key_of_text, split};
use crate::problem::{Position, Problem, Problems, Report, quoted, utf8};

/// A longer list is refused before it is read.
pub const BYTES_MAX: usize = 200 * 1024 * 1024;

/// A list of more members is refused.
pub const MEMBERS_MAX: usize = 1_000_000;

/// A sound list of members; at least one.
#[derive(Debug)]
pub struct MembersCsv<'b> {
    /// what is accepted and was perhaps meant otherwise
    pub warnings: Vec<Problem>,
    text: &'b str,
    header: Header,
    count: usize,
}

impl MembersCsv<'_> {
    /// How many members there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// The members, in the order of the list. Every value is a text, except where a column holds
    /// several.
    pub fn members(&self) -> impl Iterator<Item = MemberRow> + '_ {
        let mut reader = reader(self.text);
        let mut record = StringRecord::new();
        let _header = reader.read_record(&mut record);
        std::iter::from_fn(move || {
            let more = reader.read_record(&mut record).expect("the list was read before");
            more.then(|| self.member(&record))
        })
    }

    fn member(&self, record: &StringRecord) -> MemberRow {
        let cell = |index: usize| record.get(index).unwrap_or_default();
        let key = key_of_text(cell(self.header.key)).ok().flatten().unwrap_or_default().to_owned();
        let columns = self.header.columns.iter().enumerate();
        let data: Map<String, Value> = columns
            .map(|(index, column)| {
                let value = Value::from(cell(index));
                let value = match column.format {
                    Some(format) => split(format, value).unwrap_or_default(),
                    None => value,
                };
                (column.name.clone(), value)
            })
            .collect();
        MemberRow { key, data }
    }
}

/// Reads a list of members for a batch of this runbook.
///
/// # Errors
///
/// Every problem of the header; or else of all lines, the first hundred of them and the number of
/// the others.
pub fn read<'b>(bytes: &'b [u8], runbook: &Runbook) -> Result<MembersCsv<'b>, Problems> {
    let text = text_of(bytes)?;
    let mut reader = reader(text);
    let mut record = StringRecord::new();
    if !reader.read_record(&mut record).map_err(unreadable)? {
        return Err(empty("the list is empty").into());
    }
    let (header, warnings) = header::read(&record, text, runbook)?;
    let mut check =
        Check { header: &header, first_lines: BTreeMap::new(), report: Report::new(), more: 0 };
    let count = check.rows(reader, text)?;
    check.report.add_rest(check.more);
    check.report.finish(Some(()))?;
    if count == 0 {
        return Err(empty("the list has a header and no members").into());
    }
    Ok(MembersCsv { warnings, text, header, count })
}

/// What is found in the lines below the header.
struct Check<'h> {
    header: &'h Header,
    /// key → the line that has it
    first_lines: BTreeMap<Box<str>, usize>,
    report: Report,
    /// problems that are counted only
    more: usize,
}

impl Check<'_> {
    /// Judges every line; answers how many there are.
    fn rows(&mut self, mut reader: csv::Reader<&[u8]>, text: &str) -> Result<usize, Problem> {
        let mut lines = Lines::new(text);
        let mut record = StringRecord::new();
        let mut count = 0;
        let mut start = 0;
        while reader.read_record(&mut record).map_err(unreadable)? {
            count += 1;
            if count > MEMBERS_MAX {
                return Err(Problem::new("too_long", "the list has more than 1,000,000 members")
                    .help("make several batches of it"));
            }
            start = lines.start_of(&record);
            self.row(&record, lines.line());
        }
        if count > 0 && lines::ends_inside_quotes(&text[start..]) {
            let message = "the quotation mark that opens a value here is never closed";
            let help = "close it, or double it if it belongs to the value";
            self.add(lines.line(), Problem::new("open_quote", message).help(help));
        }
        Ok(count)
    }

    fn row(&mut self, record: &StringRecord, line: usize) {
        let (cells, columns) = (record.len(), self.header.columns.len());
        if cells != columns {
            let message = format!("columns in the header: {columns}, values on this line: {cells}");
            let help = "put a value that holds a comma or a line break in quotation marks";
            return self.add(line, Problem::new("ragged_row", message).help(help));
        }
        self.key(record.get(self.header.key).unwrap_or_default(), line);
        for (column, cell) in self.header.columns.iter().zip(record) {
            let Some(format) = column.format else { continue };
            if split(format, Value::from(cell)).is_none() {
                let message = format!("{} is not a JSON array", quoted(cell));
                let help = r#"write ["one", "two"], or leave it empty"#;
                let problem = Problem::new("not_a_list", message).at(&column.name).help(help);
                self.add(line, problem);
            }
        }
    }

    fn key(&mut self, cell: &str, line: usize) {
        let column = &self.header.columns[self.header.key].name;
        let problem = match key_of_text(cell) {
            Ok(Some(key)) => match self.first_lines.get(key) {
                Some(first) => {
                    let message = format!("{} is already on line {first}", quoted(key));
                    Problem::new("duplicate_key", message).help("name each member once")
                }
                None => {
                    self.first_lines.insert(key.into(), line);
                    return;
                }
            },
            Ok(None) => {
                let help = "give every member a key, and remove lines that are empty";
                Problem::new("empty_key", "the key is empty").help(help)
            }
            Err(why) => Problem::new("bad_key", format!("the key {why}")),
        };
        let problem = problem.at(column);
        self.add(line, problem);
    }

    fn add(&mut self, line: usize, problem: Problem) {
        if !self.report.add_if_room(problem.on(Position::counted(line, 1))) {
            self.more += 1;
        }
    }
}

/// The list as text, without the mark that some programs put before it.
fn text_of(bytes: &[u8]) -> Result<&str, Problem> {
    if bytes.len() > BYTES_MAX {
        let problem = Problem::new("too_long", "the list is longer than 200 MB");
        return Err(problem.help("make several batches of it"));
    }
    let help = "save or send it as CSV with UTF-8 encoding";
    if bytes.starts_with(&[0xFF, 0xFE]) || bytes.starts_with(&[0xFE, 0xFF]) {
        return Err(Problem::new("not_utf8", "the list is UTF-16").help(help));
    }
    let text = utf8(bytes)?;
    if let Some(end) = text.find('\0') {
        let message = "the list holds a NUL character here: it is no text, or UTF-16";
        return Err(Problem::new("not_utf8", message).on(Position::after(&text[..end])).help(help));
    }
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

/// Lines of any length are let through: they are judged with their line numbers.
fn reader(text: &str) -> csv::Reader<&[u8]> {
    ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes())
}

fn empty(message: &str) -> Problem {
    Problem::new("empty", message).help("write a line of column names, then a line for each member")
}

fn unreadable(error: csv::Error) -> Problem {
    let line = error.position().map_or(1, csv::Position::line);
    let position = Position::counted(usize::try_from(line).unwrap_or(usize::MAX), 1);
    Problem::new("unreadable", error.to_string()).on(position)
}
