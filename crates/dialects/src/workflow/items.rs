//! `for_each`, as a document writes it: the list, and how many of its items there may be.

use serde_json::Value;
use stepwell_core::definition::ForEach;
use stepwell_core::expansion::{ITEMS_MAX, ITEMS_MAX_DEFAULT};
use stepwell_core::template;

use crate::fields::{Field, Fields};
use crate::yaml::Node;

/// Reads `for_each` with the limits that belong to it.
pub(super) fn read(
    list: Option<&Field<'_, Node>>,
    fields: &mut Fields<'_, Node>,
) -> Option<ForEach> {
    let items_max = fields.optional("max_items");
    let parallel_max = fields.optional("max_parallel");
    let Some(list) = list else {
        for limit in [items_max, parallel_max].into_iter().flatten() {
            let problem = limit
                .problem("only_with_for_each", "this limits the items of a step, and it has none")
                .help("add for_each, or remove it");
            limit.report(problem);
        }
        return None;
    };
    let limit = |field: Field<'_, Node>| field.integer(1..=ITEMS_MAX);
    let for_each = ForEach {
        list: list.json(),
        items_max: items_max.and_then(limit).unwrap_or(ITEMS_MAX_DEFAULT),
        parallel_max: parallel_max.and_then(limit),
    };
    check(list, &for_each);
    Some(for_each)
}

fn check(field: &Field<'_, Node>, for_each: &ForEach) {
    match &for_each.list {
        Value::Array(items) if items.len() > usize::from(for_each.items_max) => {
            let (count, allowed) = (items.len(), for_each.items_max);
            let problem = field
                .problem("for_each_too_many", format!("the list has {count} items"))
                .help(format!("{allowed} are allowed; see max_items"));
            field.report(problem);
        }
        Value::Array(_) => {}
        // A malformed placeholder is reported with all others.
        list if template::variables(list).is_err() => {}
        Value::String(text) if template::sole_name(text).is_some() => {}
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            let problem = field
                .problem("bad_for_each", "this is neither a list nor exactly one placeholder")
                .help("write a list, or the name of one in braces, such as {{items}}");
            field.report(problem);
        }
    }
}
