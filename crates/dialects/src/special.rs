//! The template variables that the system provides.

use serde_json::{Map, Value};

use crate::workflow::SPECIALS;

/// The special variables of a run with these values.
///
/// Every special variable has a value, if only null: a template that names one is never unresolved.
pub(crate) fn special<const N: usize>(values: [(&'static str, Value); N]) -> Map<String, Value> {
    let nothing = SPECIALS.into_iter().map(|name| (name, Value::Null));
    nothing.chain(values).map(|(name, value)| (name.to_owned(), value)).collect()
}
