//! A CSV file, or all of a directory. CSV knows no types: every value is text.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use csv::{ReaderBuilder, StringRecord};
use serde_json::Value;

use super::blocking::{self, Stop};
use super::collect::Collector;
use super::environment::Variables;
use super::error::SourceError;
use super::{Limits, Rows, Source};
use crate::bus::Answer;

/// Read as the last row of every file. If it does not come, a quotation mark was left open, and the
/// reader has taken the rest of the file for one value without a word.
const END: &str = "\u{0}end of the file";

/// The file, or the directory, of a variable.
pub(super) struct Csv {
    variable: String,
    path: PathBuf,
    limits: Limits,
}

impl Csv {
    pub(super) fn open(variables: &Variables<'_>, limits: Limits) -> Result<Self, SourceError> {
        let path = PathBuf::from(variables.connection()?);
        Ok(Self { variable: variables.name().to_owned(), path, limits })
    }
}

impl Source for Csv {
    fn rows(&self) -> Answer<'_, Result<Rows, SourceError>> {
        let (variable, path, limits) = (self.variable.clone(), self.path.clone(), self.limits);
        Box::pin(blocking::run(move |stop| read(&variable, &path, limits, stop)))
    }
}

fn read(variable: &str, path: &Path, limits: Limits, stop: &Stop) -> Result<Rows, SourceError> {
    let mut collector: Option<Collector> = None;
    let mut bytes: u64 = 0;
    for file in files(variable, path)? {
        let name = shown(&file);
        let unreadable = |error: std::io::Error| SourceError::Unreachable {
            reason: format!("{name}, which {variable} leads to, cannot be read ({error})"),
        };
        let opened = File::open(&file).map_err(unreadable)?;
        bytes += opened.metadata().map_err(unreadable)?.len();
        if bytes > limits.bytes_max as u64 {
            return Err(SourceError::TooManyBytes { bytes_max: limits.bytes_max });
        }
        read_file(opened, &name, &mut collector, limits, stop)?;
    }
    Ok(collector.map(Collector::finish).unwrap_or_default())
}

/// The file itself, or the files of the directory in the order of their names.
fn files(variable: &str, path: &Path) -> Result<Vec<PathBuf>, SourceError> {
    let unreadable = |error: std::io::Error| SourceError::Unreachable {
        reason: format!("what {variable} names cannot be read ({error})"),
    };
    if !path.metadata().map_err(unreadable)?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    for entry in path.read_dir().map_err(unreadable)? {
        let file = entry.map_err(unreadable)?.path();
        let is_csv = file.extension().is_some_and(|it| it.eq_ignore_ascii_case("csv"));
        // A file that is still being copied usually has a name with a dot before it.
        let is_visible = !shown(&file).starts_with('.');
        if is_csv && is_visible && file.is_file() {
            files.push(file);
        }
    }
    files.sort();
    if files.is_empty() {
        let reason = format!("the directory that {variable} names has no file *.csv");
        return Err(SourceError::Unreachable { reason });
    }
    Ok(files)
}

/// The name of a file without the way to it, which came from the environment.
fn shown(file: &Path) -> String {
    file.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn read_file(
    file: File,
    name: &str,
    collector: &mut Option<Collector>,
    limits: Limits,
    stop: &Stop,
) -> Result<(), SourceError> {
    let fault = |row: usize, what: &str| {
        SourceError::unreadable(format!("{name}, row {row} below the header: {what}"))
    };
    let end = format!("\n{END}\n");
    let file = file.chain(end.as_bytes());
    let mut reader = ReaderBuilder::new().has_headers(false).flexible(true).from_reader(file);
    let mut record = StringRecord::new();
    let has_header = reader.read_record(&mut record).map_err(|error| fault(0, &said(&error)))?;
    if !has_header || is_end(&record) {
        return Err(SourceError::unreadable(format!(
            "{name} is empty; it must begin with columns"
        )));
    }
    let columns: Vec<String> = record.iter().map(|column| column.trim().to_owned()).collect();
    let collector = match collector {
        Some(collector) if collector.columns() == columns => collector,
        Some(_) => {
            let reason = format!("{name} has other columns than the file before it");
            return Err(SourceError::unreadable(reason));
        }
        None => collector.insert(header(columns, limits, name)?),
    };
    let mut row = 0;
    while reader.read_record(&mut record).map_err(|error| fault(row + 1, &said(&error)))? {
        row += 1;
        if is_end(&record) {
            return Ok(());
        }
        let (values, columns) = (record.len(), collector.columns().len());
        if values != columns {
            let what = format!("columns in the header: {columns}, values: {values}");
            return Err(fault(row, &what));
        }
        collector.push_values(record.iter().map(Value::from))?;
        if stop.is_stopped() {
            return Err(SourceError::TimedOut { after: limits.time_max });
        }
    }
    Err(fault(row, "a quotation mark opens a value and is never closed"))
}

fn is_end(record: &StringRecord) -> bool {
    record.len() == 1 && &record[0] == END
}

/// The first header decides. A single column with another delimiter in it is never meant.
fn header(columns: Vec<String>, limits: Limits, name: &str) -> Result<Collector, SourceError> {
    if let [only] = columns.as_slice()
        && only.contains([';', '\t'])
    {
        let reason = format!("{name} does not tell columns apart by commas; save it with commas");
        return Err(SourceError::unreadable(reason));
    }
    Collector::new(columns, limits)
}

/// What the reader says, without the place, which it counts in its own way.
fn said(error: &csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::Utf8 { .. } => "it is not UTF-8; save it with UTF-8 encoding".to_owned(),
        csv::ErrorKind::Io(error) => error.to_string(),
        _ => error.to_string(),
    }
}
