//! Finding the value that a name stands for.

use serde_json::{Map, Value};

use super::error::TemplateFault;
use super::near::near;

/// Where names are looked up, strongest first.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'a> {
    /// What the system itself provides. Names that begin with `_` are found only here.
    pub special: &'a Map<String, Value>,
    /// What earlier steps of the run gave back.
    pub outputs: &'a Map<String, Value>,
    /// What the run was started with.
    pub input: &'a Map<String, Value>,
}

impl<'a> Scope<'a> {
    /// The value of `name`: by its whole name, or else as a dotted path into a value.
    ///
    /// Only the name itself may differ in capitals; the keys along a path are data and must match.
    pub(super) fn find(&self, name: &str) -> Result<&'a Value, TemplateFault> {
        if let Some(found) = self.find_if_any(name)? {
            return Ok(found);
        }
        let names = self.sources(name).flat_map(Map::keys).map(String::as_str);
        let near = near(name, names).map(str::to_owned);
        Err(TemplateFault::Unresolved { name: name.to_owned(), near })
    }

    /// The same, where a name that nothing has is no fault.
    pub(crate) fn find_if_any(&self, name: &str) -> Result<Option<&'a Value>, TemplateFault> {
        if let Some(found) = self.named(name)? {
            return Ok(Some(found));
        }
        let Some((head, path)) = name.split_once('.') else { return Ok(None) };
        Ok(self.named(head)?.and_then(|value| descend(value, path)))
    }

    /// The value of exactly that name, or else of the only one that differs in capitals alone.
    fn named(&self, name: &str) -> Result<Option<&'a Value>, TemplateFault> {
        if let Some(found) = self.sources(name).find_map(|source| source.get(name)) {
            return Ok(Some(found));
        }
        let mut found: Option<(&'a String, &'a Value)> = None;
        for (key, value) in self.sources(name).flatten() {
            match found {
                None if same_but_for_capitals(key, name) => found = Some((key, value)),
                // The same spelling in a weaker source is overruled, not ambiguous.
                Some((first, _)) if first != key && same_but_for_capitals(key, name) => {
                    let candidates = vec![first.clone(), key.clone()];
                    return Err(TemplateFault::Ambiguous { name: name.to_owned(), candidates });
                }
                None | Some(_) => {}
            }
        }
        Ok(found.map(|(_, value)| value))
    }

    /// The sources in which `name` may be found, strongest first.
    fn sources(&self, name: &str) -> impl Iterator<Item = &'a Map<String, Value>> + use<'a> {
        let open = if name.starts_with('_') { 1 } else { 3 };
        [self.special, self.outputs, self.input].into_iter().take(open)
    }
}

/// Whether a placeholder's name could be found if values of the `known` names were at hand.
///
/// This is for checks ahead of time, when the names are known and the values are not. Whether a
/// dotted path leads anywhere shows only with the values, so it is judged by its first part. Of
/// the names that begin with `_`, only special variables belong in `known`.
pub fn is_known<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> bool {
    let head = name.split('.').next().unwrap_or(name);
    known
        .into_iter()
        .any(|known| same_but_for_capitals(known, name) || same_but_for_capitals(known, head))
}

/// The field of a worker's result that an output takes: under `data`, or else at the top.
///
/// `path` may be dotted; a key that itself contains the dots comes first.
#[must_use]
pub fn output<'r>(result: &'r Value, path: &str) -> Option<&'r Value> {
    result.get("data").and_then(|data| descend(data, path)).or_else(|| descend(result, path))
}

/// The same for a step that was done once for each item: the list of what each item's result holds
/// there, null where one holds nothing. `None` if none of them does.
pub fn output_of_items<'r>(
    results: impl IntoIterator<Item = Option<&'r Value>>,
    path: &str,
) -> Option<Value> {
    let found: Vec<Option<&Value>> =
        results.into_iter().map(|result| output(result?, path)).collect();
    if !found.is_empty() && found.iter().all(Option::is_none) {
        return None;
    }
    Some(found.into_iter().map(|value| value.cloned().unwrap_or(Value::Null)).collect())
}

/// The value at the end of a dotted path of object keys and array indexes.
fn descend<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    if let Some(found) = child(value, path) {
        return Some(found);
    }
    let (key, rest) = path.split_once('.')?;
    descend(child(value, key)?, rest)
}

fn child<'v>(value: &'v Value, key: &str) -> Option<&'v Value> {
    match value {
        Value::Object(fields) => fields.get(key),
        Value::Array(items) => items.get(key.parse::<usize>().ok()?),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

fn same_but_for_capitals(one: &str, other: &str) -> bool {
    let folded = |text| str::chars(text).flat_map(char::to_lowercase);
    folded(one).eq(folded(other))
}
