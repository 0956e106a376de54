//! The examples, the published schema and the reader agree.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use stepwell_dialects::fields::Tree;
use stepwell_dialects::runbooks::{compile, is_runbook, read, schema};
use stepwell_dialects::yaml;

use super::{HEAD, MAILBOXES, reading, runbook, with_steps};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn examples() -> Vec<(String, String)> {
    let folder = root().join("examples/runbooks");
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut examples: Vec<_> = paths
        // Lists of members stand beside them.
        .filter(|path| path.extension().is_some_and(|kind| kind == "yaml"))
        .map(|path| {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            (name, fs::read_to_string(path).unwrap())
        })
        .collect();
    examples.sort();
    examples
}

/// What the published schema has against a document.
fn errors(validator: &jsonschema::Validator, text: &str) -> Vec<String> {
    let document = yaml::read(text.as_bytes()).unwrap().to_json();
    validator.iter_errors(&document).map(|error| error.to_string()).collect()
}

fn validator() -> jsonschema::Validator {
    jsonschema::options().offline().build(&schema()).unwrap()
}

#[test]
fn every_example_is_a_sound_runbook_without_warnings() {
    let examples = examples();
    assert_eq!(examples.len(), 3);
    for (name, text) in examples {
        assert!(is_runbook(text.as_bytes()), "{name}");
        let runbook = runbook(&text);
        assert_eq!(runbook.name, name, "an example is named like its file");
        assert_eq!(compile(&runbook, 1).phases.len(), runbook.phases.len());
    }
}

#[test]
fn the_published_schema_is_the_one_we_have() {
    let path = root().join("docs/schemas/runbook.schema.json");
    let ours = format!("{:#}\n", schema());
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&path, &ours).unwrap();
    }
    let published = fs::read_to_string(path).unwrap();
    assert_eq!(published, ours, "run the tests once with UPDATE_EXPECT=1 and commit the file");
    assert!(jsonschema::draft202012::meta::is_valid(&schema()));
}

/// A document with one sound phase and these fields.
fn with_top(fields: &str) -> String {
    format!("{}{fields}\n", with_steps("{name: s, worker_id: w, function: F}"))
}

/// A document with this data source.
fn with_source(fields: &str) -> String {
    format!(
        "name: a\ndata_source: {{{fields}}}\nphases: [{{name: p, offset: T-0, steps: [{{name: s, worker_id: w, \
         function: F}}]}}]\n"
    )
}

fn with_step(fields: &str) -> String {
    with_steps(&format!("{{name: s, worker_id: w, function: F, {fields}}}"))
}

fn with_offset(offset: &str) -> String {
    format!(
        "{HEAD}phases: [{{name: p, offset: {offset}, steps: [{{name: s, worker_id: w, function: F}}]}}]\n"
    )
}

// what is accepted by the reader is accepted by the schema, unknown keys included.
#[test]
fn the_published_schema_accepts_what_the_reader_accepts() {
    let validator = validator();
    let mut accepted: Vec<String> = examples().into_iter().map(|(_, text)| text).collect();
    accepted.push(MAILBOXES.to_owned());
    let offsets = ["T-5d", "T-4h", "T-30m", "T-90s", "T-0", "T-0d", "T+2h"];
    accepted.extend(offsets.map(with_offset));
    accepted.extend(
        [
            "type: dataverse, connection: C, query: Q, primary_key: K, batch_time_column: T",
            "type: databricks, connection: C, warehouse_id: W, query: Q, primary_key: K, batch_time: immediate",
            "type: csv, connection: C, primary_key: K, batch_time: immediate, columns: [K, 2025]",
            "type: http, connection: C, primary_key: K, batch_time: immediate",
            "type: http, connection: C, query: /a, rows: value, primary_key: K, batch_time: immediate",
        ]
        .map(with_source),
    );
    accepted.extend(
        ["init: []", "on_member_removed: []", "rollbacks: {}", "unknown: 1", "retry: {}"]
            .map(with_top),
    );
    accepted.extend(
        [
            "params: {}",
            "output_params: {A: a.b, B: 0}",
            "poll: {interval: 30s, timeout: 7d}",
            "retry: {max_retries: 0, interval: 0s}",
            "timeout: 1s",
            "unknown: [1]",
        ]
        .map(with_step),
    );
    for text in accepted {
        reading(&text);
        assert_eq!(errors(&validator, &text), [""; 0], "{text}");
    }
}

// as far as a schema can tell.
#[test]
fn the_published_schema_refuses_what_the_reader_refuses() {
    let validator = validator();
    let mut refused = vec![
        "[]".to_owned(),
        "name: a".to_owned(),
        format!("{HEAD}phases: []"),
        format!("{HEAD}phases: [{{name: p, offset: T-0, steps: []}}]"),
        with_steps("{name: ' s', worker_id: w, function: F}"),
        with_steps("{name: s, worker_id: a b, function: F}"),
        with_steps("{name: s, worker_id: w, function: ''}"),
        with_steps("{name: s, worker_id: w}"),
    ];
    refused.extend(["5d", "T-5", "T+0", "T-5w", "t-0", "T-1.5h", "'T-0 '", "0"].map(with_offset));
    refused.extend(
        [
            "type: oracle, connection: C, query: Q, primary_key: K, batch_time: immediate",
            "type: dataverse, connection: C, primary_key: K, batch_time: immediate",
            "type: dataverse, connection: C, warehouse_id: W, query: Q, primary_key: K, batch_time: immediate",
            "type: databricks, connection: C, query: Q, primary_key: K, batch_time: immediate",
            "type: sqlite, connection: C, query: Q, rows: r, primary_key: K, batch_time: immediate",
            "type: csv, connection: C, query: Q, primary_key: K, batch_time: immediate",
            "type: csv, connection: a=b, primary_key: K, batch_time: immediate",
            "type: csv, connection: C, batch_time: immediate",
            "type: csv, connection: C, primary_key: K",
            "type: csv, connection: C, primary_key: K, batch_time: immediate, batch_time_column: T",
            "type: csv, connection: C, primary_key: K, batch_time: now",
            "type: csv, connection: C, primary_key: K, batch_time: immediate, columns: [K, K]",
            "type: csv, connection: C, primary_key: K, batch_time: immediate, multi_valued_columns: [A]",
            "type: csv, connection: C, primary_key: K, batch_time: immediate, multi_valued_columns: [{name: A, format: x}]",
        ]
        .map(with_source),
    );
    refused.extend(
        [
            "retry: 3",
            "init: [text]",
            "on_member_removed: [{name: r, worker_id: w, function: F, on_failure: u}]",
            "rollbacks: {u: []}",
            "rollbacks: {u: [{name: u, worker_id: w, function: F, on_failure: u}]}",
        ]
        .map(with_top),
    );
    refused.extend(
        [
            "params: [a]",
            "output_params: {_a: b}",
            "poll: {interval: 30s}",
            "poll: {interval: 0s, timeout: 1h}",
            "poll: {interval: 500ms, timeout: 1h}",
            "retry: {max_retries: -1}",
            "retry: {max_retries: 1, interval: 30}",
            "timeout: 0m",
        ]
        .map(with_step),
    );
    for text in refused {
        assert!(read(text.as_bytes()).is_err(), "the reader accepts {text}");
        assert!(!errors(&validator, &text).is_empty(), "the schema accepts {text}");
    }
}

/// The fields that the reader says it knows, when asked for one that nobody would mean.
fn fields_of_reader(document: &str) -> Vec<String> {
    let warnings = reading(document).warnings.unwrap();
    let unknown = warnings.iter().find(|warning| warning.code == "unknown_field").unwrap();
    let known = unknown.help.as_deref().unwrap().strip_prefix("known fields are ").unwrap();
    let mut known: Vec<String> = known.split(", ").map(str::to_owned).collect();
    known.sort();
    known
}

fn fields_of_schema(pointer: &str) -> Vec<String> {
    let schema = schema();
    let properties = schema.pointer(pointer).and_then(Value::as_object).unwrap();
    let mut known: Vec<String> = properties.keys().cloned().collect();
    known.sort();
    known
}

#[test]
fn the_published_schema_has_exactly_the_fields_that_are_read() {
    let source = "type: csv, connection: C, primary_key: K, batch_time: immediate";
    let column = "multi_valued_columns: [{name: A, format: json_array, zzzzzz: 1}]";
    let phase = "phases: [{name: p, offset: T-0, zzzzzz: 1, steps: [{name: s, worker_id: w, function: F}]}]";
    let cases = [
        ("/properties", with_top("zzzzzz: 1")),
        ("/$defs/data_source/properties", with_source(&format!("{source}, zzzzzz: 1"))),
        ("/$defs/multi_valued_column/properties", with_source(&format!("{source}, {column}"))),
        ("/$defs/phase/properties", format!("{HEAD}{phase}\n")),
        ("/$defs/step/properties", with_step("zzzzzz: 1")),
        ("/$defs/retry/properties", with_step("retry: {max_retries: 1, zzzzzz: 1}")),
        ("/$defs/poll/properties", with_step("poll: {interval: 1s, timeout: 1s, zzzzzz: 1}")),
    ];
    for (pointer, document) in cases {
        assert_eq!(fields_of_schema(pointer), fields_of_reader(&document), "{pointer}");
    }
    let mut known = fields_of_schema("/$defs/step/properties");
    known.retain(|field| field != "on_failure");
    assert_eq!(fields_of_schema("/$defs/undoing_step/properties"), known);
}
