//! The examples, the published schema and the reader agree.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use stepwell_dialects::fields::Tree;
use stepwell_dialects::workflow::{self, Checks};
use stepwell_dialects::yaml;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn examples() -> Vec<(String, String)> {
    let folder = root().join("examples/workflows");
    let mut examples: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .map(|path| {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            (name, fs::read_to_string(path).unwrap())
        })
        .collect();
    examples.sort();
    examples
}

fn validator() -> jsonschema::Validator {
    jsonschema::options().offline().build(&workflow::schema()).unwrap()
}

#[test]
fn every_example_is_a_sound_workflow() {
    let examples = examples();
    assert!(examples.len() >= 3);
    for (name, text) in examples {
        let workflow = workflow::read(text.as_bytes())
            .unwrap_or_else(|problems| panic!("{}", problems.in_file(&name)));
        assert_eq!(workflow.name, name, "an example is named like its file");
        Checks::compile(&workflow).unwrap();
    }
}

#[test]
fn every_example_passes_the_published_schema() {
    let validator = validator();
    for (name, text) in examples() {
        let document = yaml::read(text.as_bytes()).unwrap().to_json();
        let errors: Vec<String> =
            validator.iter_errors(&document).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{name}: {errors:?}");
    }
}

#[test]
fn the_published_schema_is_the_one_we_have() {
    let path = root().join("docs/schemas/workflow.schema.json");
    let ours = format!("{:#}\n", workflow::schema());
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&path, &ours).unwrap();
    }
    let published = fs::read_to_string(path).unwrap();
    assert_eq!(published, ours, "run the tests once with UPDATE_EXPECT=1 and commit the file");
}

/// The fields that the reader says it knows, when asked for one that nobody would mean.
fn fields_of_reader(document: &str) -> Vec<String> {
    let problems = workflow::read(document.as_bytes()).unwrap_err();
    let unknown = problems.iter().find(|problem| problem.code == "unknown_field").unwrap();
    let help = unknown.help.as_deref().unwrap();
    let known = help.strip_prefix("known fields are ").unwrap();
    let mut known: Vec<String> = known.split(", ").map(str::to_owned).collect();
    known.sort();
    known
}

fn fields_of_schema(pointer: &str) -> Vec<String> {
    let schema = workflow::schema();
    let properties = schema.pointer(pointer).and_then(Value::as_object).unwrap();
    let mut known: Vec<String> = properties.keys().cloned().collect();
    known.sort();
    known
}

#[test]
fn the_published_schema_has_exactly_the_fields_that_are_read() {
    let step = |fields: &str| format!("name: a\nsteps: [{{id: s, type: T, service: p, {fields}}}]");
    let undo = "name: a\nsteps: [{id: s, type: T, pool: p}]\ncompensations: {u: [{id: s, type: T, service: p, zzzzzz: 1}]}";
    let cases = [
        ("/properties", "zzzzzz: 1".to_owned()),
        ("/$defs/retry/properties", step("retry: {zzzzzz: 1}")),
        ("/$defs/exponential/properties", step("retry: {exponential: {zzzzzz: 1}}")),
        ("/$defs/poll/properties", step("poll: {zzzzzz: 1}")),
        ("/$defs/step/properties", step("zzzzzz: 1")),
    ];
    for (pointer, document) in cases {
        assert_eq!(fields_of_schema(pointer), fields_of_reader(&document), "{pointer}");
    }
    // The reader knows the fields of the graph there too, to say why they are not possible.
    let mut known = fields_of_reader(undo);
    known.retain(|field| {
        !["after", "depends_on", "gate", "on_failure", "payload_schema"].contains(&field.as_str())
    });
    assert_eq!(fields_of_schema("/$defs/compensation_step/properties"), known);
}

#[test]
fn the_published_schema_refuses_what_the_reader_refuses() {
    let validator = validator();
    let step = |fields: &str| format!("name: a\nsteps: [{{id: s, type: T{fields}}}]");
    let refused = [
        "steps: [{id: s, type: T, pool: p}]".to_owned(),
        "name: A B\nsteps: [{id: s, type: T, pool: p}]".to_owned(),
        "name: a\nsteps: []".to_owned(),
        step(""),
        step(", pool: p, service: q"),
        step(", pool: p, timeout: 5 minutes"),
        step(", pool: p, retry: {interval: 1s, delays: [1s]}"),
        step(", pool: p, retry: {jitter: 101%}"),
        step(", pool: p, poll: {interval: 1s}"),
        step(", pool: p, outputs: {_x: y}"),
        step(", pool: p, payload_schema: {type: strnig}"),
    ];
    for text in refused {
        assert!(workflow::read(text.as_bytes()).is_err(), "the reader accepts {text}");
        let document = yaml::read(text.as_bytes()).unwrap().to_json();
        assert!(!validator.is_valid(&document), "the schema accepts {text}");
    }
}
