//! What only this dialect knows of a run, kept in its header for messages and views.

use serde_json::{Map, Value};
use stepwell_core::run::Header;

const INPUT_REF: &str = "input_ref";
const OUTPUT_REF: &str = "output_ref";
const WORKSPACE_REF: &str = "workspace_ref";
const MODE: &str = "mode";
const DOC_ID: &str = "doc_id";
const REQUEST_TYPE: &str = "request_type";
const CALLBACK_URLS: &str = "callback_urls";

/// What is kept of an envelope, beside what the kernel itself understands.
pub(super) struct Context {
    pub(super) input_ref: String,
    pub(super) output_ref: String,
    pub(super) workspace_ref: String,
    pub(super) mode: Value,
    pub(super) doc_id: Option<String>,
    pub(super) request_type: String,
    pub(super) callback_urls: Vec<String>,
}

impl Context {
    /// As the header keeps it.
    pub(super) fn into_map(self) -> Map<String, Value> {
        let fields = [
            (INPUT_REF, self.input_ref.into()),
            (OUTPUT_REF, self.output_ref.into()),
            (WORKSPACE_REF, self.workspace_ref.into()),
            (MODE, self.mode),
            (DOC_ID, self.doc_id.into()),
            (REQUEST_TYPE, self.request_type.into()),
            (CALLBACK_URLS, self.callback_urls.into()),
        ];
        fields.into_iter().map(|(key, value): (_, Value)| (key.to_owned(), value)).collect()
    }
}

fn text<'h>(header: &'h Header, key: &str) -> Option<&'h str> {
    header.context.get(key).and_then(Value::as_str)
}

pub(super) fn input_ref(header: &Header) -> Option<&str> {
    text(header, INPUT_REF)
}

pub(super) fn output_ref(header: &Header) -> Option<&str> {
    text(header, OUTPUT_REF)
}

pub(super) fn workspace_ref(header: &Header) -> Option<&str> {
    text(header, WORKSPACE_REF)
}

pub(super) fn mode(header: &Header) -> Option<&str> {
    text(header, MODE)
}

pub(super) fn request_type(header: &Header) -> Option<&str> {
    text(header, REQUEST_TYPE)
}

pub(super) fn callback_urls(header: &Header) -> impl Iterator<Item = &str> {
    let urls = header.context.get(CALLBACK_URLS).and_then(Value::as_array);
    urls.into_iter().flatten().filter_map(Value::as_str)
}
