//! `data_source`: where the members come from.

use super::names::{environment, line};
use super::warnings::Warnings;
use crate::fields::{Field, Fields};
use crate::problem::quoted;
use crate::runbooks::document::{
    BatchTime, DataSource, MultiValueFormat, MultiValuedColumn, SourceKind,
};
use crate::yaml::Node;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Type {
    Dataverse,
    Databricks,
    Postgres,
    Sqlite,
    Csv,
    Http,
}

const TYPES: [(&str, Type); 6] = [
    ("dataverse", Type::Dataverse),
    ("databricks", Type::Databricks),
    ("postgres", Type::Postgres),
    ("sqlite", Type::Sqlite),
    ("csv", Type::Csv),
    ("http", Type::Http),
];

const FORMATS: [(&str, MultiValueFormat); 3] = [
    ("semicolon_delimited", MultiValueFormat::SemicolonDelimited),
    ("comma_delimited", MultiValueFormat::CommaDelimited),
    ("json_array", MultiValueFormat::JsonArray),
];

const QUERY_CHARS_MAX: usize = 65_536;
const ROWS_CHARS_MAX: usize = 256;
const COLUMNS_MAX: usize = 1_000;

/// Reads `data_source`.
pub(super) fn read(field: Field<'_, Node>, warnings: &Warnings) -> Option<DataSource> {
    let mut fields = field.fields()?;
    let kind = kind(&mut fields);
    let connection = fields.required("connection").and_then(|field| environment(&field));
    let primary_key = fields.required("primary_key").and_then(|field| line(&field));
    let batch_time = batch_time(&mut fields);
    let multi_valued = fields.optional("multi_valued_columns");
    let columns = fields.optional("columns");
    warnings.unknown(&fields);

    let single = [primary_key, batch_time.as_ref().and_then(BatchTime::column)];
    let multi_valued = multi_valued.map(|field| multi_valued_columns(&field, &single, warnings));
    let listed = columns.as_ref().and_then(listed);
    let source = DataSource {
        kind: kind?,
        connection: connection?.to_owned(),
        primary_key: primary_key?.to_owned(),
        batch_time: batch_time?,
        multi_valued_columns: multi_valued.unwrap_or_default(),
        columns: listed,
    };
    if let Some(field) = columns {
        check_listed(&field, &source);
    }
    Some(source)
}

/// What a type of source says about a field of its own.
#[derive(Clone, Copy)]
enum Need {
    Required,
    Optional,
    Absent,
}

/// The type, and the fields that depend on it.
fn kind(fields: &mut Fields<'_, Node>) -> Option<SourceKind> {
    let kind = fields.required("type").and_then(|field| field.word(&TYPES));
    let (query, warehouse_id, rows) = match kind {
        Some(Type::Dataverse | Type::Postgres | Type::Sqlite) => {
            (Need::Required, Need::Absent, Need::Absent)
        }
        Some(Type::Databricks) => (Need::Required, Need::Required, Need::Absent),
        Some(Type::Csv) => (Need::Absent, Need::Absent, Need::Absent),
        Some(Type::Http) => (Need::Optional, Need::Absent, Need::Optional),
        None => (Need::Optional, Need::Optional, Need::Optional),
    };
    let query =
        ask(fields, "query", query).and_then(|field| field.text_within(1..=QUERY_CHARS_MAX));
    let warehouse_id =
        ask(fields, "warehouse_id", warehouse_id).and_then(|field| environment(&field));
    let rows = ask(fields, "rows", rows).and_then(|field| field.text_within(1..=ROWS_CHARS_MAX));
    let query = query.map(str::to_owned);
    Some(match kind? {
        Type::Dataverse => SourceKind::Dataverse { query: query? },
        Type::Databricks => {
            SourceKind::Databricks { query: query?, warehouse_id: warehouse_id?.to_owned() }
        }
        Type::Postgres => SourceKind::Postgres { query: query? },
        Type::Sqlite => SourceKind::Sqlite { query: query? },
        Type::Csv => SourceKind::Csv,
        Type::Http => SourceKind::Http { query, rows: rows.map(str::to_owned) },
    })
}

fn ask<'n>(
    fields: &mut Fields<'n, Node>,
    key: &'static str,
    need: Need,
) -> Option<Field<'n, Node>> {
    match need {
        Need::Required => fields.required(key),
        Need::Optional => fields.optional(key),
        Need::Absent => {
            let field = fields.optional(key)?;
            let message = format!("a source of this type has no {key}");
            field.report(field.problem("conflicting_fields", message).help("remove it"));
            None
        }
    }
}

/// Exactly one of the two ways to group members.
fn batch_time(fields: &mut Fields<'_, Node>) -> Option<BatchTime> {
    let column = fields.optional("batch_time_column");
    let word = fields.optional("batch_time");
    match (column, word) {
        (Some(column), None) => line(&column).map(|name| BatchTime::Column(name.to_owned())),
        (None, Some(word)) => word.word(&[("immediate", BatchTime::Immediate)]),
        (Some(_), Some(word)) => {
            let message = "batch_time and batch_time_column are two ways to group members";
            word.report(word.problem("conflicting_fields", message).help("keep one of them"));
            None
        }
        (None, None) => {
            let object = fields.object();
            let problem = object
                .problem("missing_field", "nothing says how members are grouped into batches")
                .help("add batch_time_column, or batch_time: immediate");
            object.report(problem);
            None
        }
    }
}

fn multi_valued_columns(
    field: &Field<'_, Node>,
    single: &[Option<&str>],
    warnings: &Warnings,
) -> Vec<MultiValuedColumn> {
    let mut columns: Vec<MultiValuedColumn> = Vec::new();
    for item in items(field).unwrap_or_default() {
        let Some(mut fields) = item.fields() else { continue };
        let field = fields.required("name");
        let format = fields.required("format").and_then(|format| format.word(&FORMATS));
        warnings.unknown(&fields);
        let (Some(field), Some(format)) = (field, format) else { continue };
        let Some(name) = line(&field) else { continue };
        if single.contains(&Some(name)) {
            let message = format!("the column {} must hold one value", quoted(name));
            let help = "members are identified or grouped by it; remove it from this list";
            field.report(field.problem("conflicting_fields", message).help(help));
        }
        if columns.iter().any(|column| column.name == name) {
            twice(&field, name);
        }
        columns.push(MultiValuedColumn { name: name.to_owned(), format });
    }
    columns
}

/// The columns that the document says the source has.
fn listed(field: &Field<'_, Node>) -> Option<Vec<String>> {
    let mut columns: Vec<String> = Vec::new();
    for item in items(field)? {
        let Some(name) = line(&item) else { continue };
        if columns.iter().any(|column| column == name) {
            twice(&item, name);
        }
        columns.push(name.to_owned());
    }
    Some(columns)
}

fn twice(field: &Field<'_, Node>, name: &str) {
    let message = format!("the column {} is listed twice", quoted(name));
    field.report(field.problem("duplicate_item", message).help("list it once"));
}

/// A list of columns has all columns that the data source names elsewhere.
fn check_listed(field: &Field<'_, Node>, source: &DataSource) {
    let Some(columns) = &source.columns else { return };
    let multi_valued = source.multi_valued_columns.iter().map(|column| column.name.as_str());
    let named = [Some(source.primary_key.as_str()), source.batch_time.column()];
    for name in named.into_iter().flatten().chain(multi_valued) {
        if !columns.iter().any(|column| column == name) {
            let message = format!("the column {} is missing from this list", quoted(name));
            field.report(field.problem("unknown_column", message).help("list every column"));
        }
    }
}

fn items<'n>(field: &Field<'n, Node>) -> Option<Vec<Field<'n, Node>>> {
    let items = field.items()?;
    if items.len() <= COLUMNS_MAX {
        return Some(items);
    }
    let message = format!("the list has {} columns", items.len());
    field.report(field.problem("out_of_range", message).help("list at most 1000"));
    None
}
