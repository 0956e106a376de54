//! The first line: which column is which.

use csv::StringRecord;
use stepwell_core::template;

use crate::problem::{Position, Problem, Problems, Report, quoted};
use crate::runbooks::columns::{needed_columns, template_columns};
use crate::runbooks::document::{DataSource, MultiValueFormat, Runbook};
use crate::runbooks::rows::listed;

/// More columns than the document of a runbook may list.
const COLUMNS_MAX: usize = 1_000;

/// The columns of a list.
#[derive(Debug)]
pub(super) struct Header {
    /// in the order of the list
    pub(super) columns: Vec<Column>,
    /// which of them identifies a member
    pub(super) key: usize,
}

/// One column of a list.
#[derive(Debug)]
pub(super) struct Column {
    pub(super) name: String,
    /// how its values are told apart, if it holds several
    pub(super) format: Option<MultiValueFormat>,
}

/// Reads the header; also answers what its author should look at again.
pub(super) fn read(
    record: &StringRecord,
    text: &str,
    runbook: &Runbook,
) -> Result<(Header, Vec<Problem>), Problems> {
    let source = &runbook.data_source;
    let names: Vec<&str> = record.iter().map(str::trim).collect();
    let key = place_of(&source.primary_key, &names);
    if key.is_none()
        && let Some(problem) = wrong_delimiter(text, source)
    {
        return Err(problem.into());
    }
    if names.len() > COLUMNS_MAX {
        let message = format!("the list has {} columns", names.len());
        let problem = Problem::new("too_long", message).help("keep at most 1000 of them");
        return Err(at_top(problem).into());
    }
    let report = Report::new();
    check_names(&names, &report);
    if key.is_none() {
        let message = format!("the key column {} is missing", quoted(&source.primary_key));
        let help = format!("the columns are {}", listed(&names));
        report.add(at_top(Problem::new("missing_column", message).help(help)));
    }
    check_needed(&names, runbook, &report);
    let key = report.finish(key)?;
    let warnings = warnings(&names, runbook);
    let column = |name: &&str| Column { name: (*name).to_owned(), format: format_of(name, source) };
    Ok((Header { columns: names.iter().map(column).collect(), key }, warnings))
}

fn at_top(problem: Problem) -> Problem {
    problem.on(Position::counted(1, 1))
}

/// Where a column is: by its name, or else by its name in other capitals if only one has it.
fn place_of(name: &str, names: &[&str]) -> Option<usize> {
    names.iter().position(|known| *known == name).or_else(|| {
        let folded = name.to_lowercase();
        let mut alike = (0..names.len()).filter(|index| names[*index].to_lowercase() == folded);
        alike.next().filter(|_| alike.next().is_none())
    })
}

fn format_of(name: &str, source: &DataSource) -> Option<MultiValueFormat> {
    let folded = name.to_lowercase();
    let columns = &source.multi_valued_columns;
    let column = columns.iter().find(|column| column.name.to_lowercase() == folded);
    column.map(|column| column.format)
}

/// Says so if the columns are told apart by something else than a comma.
fn wrong_delimiter(text: &str, source: &DataSource) -> Option<Problem> {
    let line = text.trim_start().lines().next().unwrap_or_default();
    if line.get(..4).is_some_and(|word| word.eq_ignore_ascii_case("sep=")) {
        let problem = Problem::new("wrong_delimiter", "the first line is not a line of columns");
        return Some(at_top(problem.help("remove it, and tell columns apart by commas")));
    }
    let has_key = |delimiter: char| {
        let unquoted = |name: &'_ str| name.trim().trim_matches('"').trim().to_lowercase();
        line.split(delimiter).any(|name| unquoted(name) == source.primary_key.to_lowercase())
    };
    let found = [(';', "semicolons"), ('\t', "tabs"), ('|', "vertical bars")];
    let (_, words) = found.into_iter().find(|(delimiter, _)| {
        line.contains(*delimiter) && (has_key(*delimiter) || !line.contains(','))
    })?;
    let message = format!("the columns are told apart by {words}");
    Some(at_top(Problem::new("wrong_delimiter", message).help("save the list with commas")))
}

/// Every column has a name, and no other has the same.
fn check_names(names: &[&str], report: &Report) {
    for (index, name) in names.iter().enumerate() {
        let number = index + 1;
        let folded = name.to_lowercase();
        let twin = names[..index].iter().position(|other| other.to_lowercase() == folded);
        let problem = if name.is_empty() {
            let message = format!("column {number} has no name");
            Problem::new("unnamed_column", message).help("name it, or remove it from every line")
        } else if let Some(twin) = twin {
            let message = format!("columns {} and {number} are both {}", twin + 1, quoted(name));
            Problem::new("duplicate_column", message).help("name each column once")
        } else {
            continue;
        };
        report.add(at_top(problem));
    }
}

/// Every column is there without which a step could not be dispatched.
fn check_needed(names: &[&str], runbook: &Runbook, report: &Report) {
    let needed = needed_columns(runbook);
    // The key is missed in words of its own.
    let missing: Vec<&str> = needed
        .iter()
        .skip(1)
        .map(String::as_str)
        .filter(|name| !template::is_known(name, names.iter().copied()))
        .collect();
    if !missing.is_empty() {
        let message = format!("steps use columns that are missing: {}", listed(&missing));
        let help = "add them; the runbook's CSV template has every column";
        report.add(at_top(Problem::new("missing_column", message).help(help)));
    }
}

fn warnings(names: &[&str], runbook: &Runbook) -> Vec<Problem> {
    let source = &runbook.data_source;
    let used = template_columns(runbook);
    let listed_columns = source.columns.iter().flatten();
    let known: Vec<String> =
        used.iter().chain(listed_columns).map(|it| it.to_lowercase()).collect();
    let start = source.batch_time.column().map(str::to_lowercase);
    // A placeholder may name a part of a column: `{{Site.Name}}` uses the column `Site`.
    let is_used = |name: &str| {
        let folded = name.to_lowercase();
        known.iter().any(|it| *it == folded || it.split('.').next() == Some(folded.as_str()))
    };
    let (mut warnings, mut unknown) = (Vec::new(), Vec::new());
    for name in names {
        if Some(name.to_lowercase()) == start {
            let message = format!("{} does not say when this batch starts", quoted(name));
            let help = "a batch made of a list goes on when somebody advances it";
            warnings.push(at_top(Problem::new("unused_start", message).help(help)));
        } else if !is_used(name) {
            unknown.push(*name);
        }
    }
    if !unknown.is_empty() {
        let message = format!("no step uses {}", listed(&unknown));
        let used: Vec<&str> = used.iter().map(String::as_str).collect();
        let help = format!("the columns of this runbook are {}", listed(&used));
        warnings.push(at_top(Problem::new("unknown_column", message).help(help)));
    }
    warnings
}
