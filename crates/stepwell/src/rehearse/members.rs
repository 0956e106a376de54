//! The members of a rehearsal: from a list, or made up.

use std::path::Path;

use serde_json::{Map, Value};
use stepwell_dialects::runbooks::columns::template_columns;
use stepwell_dialects::runbooks::document::Runbook;
use stepwell_dialects::runbooks::members_csv;
use stepwell_dialects::runbooks::rows::MemberRow;

use super::nest::put;
use crate::failure::Failure;

/// Values of a made-up column that holds several.
const SEVERAL: usize = 2;

/// The members of a list.
pub(super) fn listed(path: &Path, runbook: &Runbook) -> Result<Vec<MemberRow>, Failure> {
    let bytes = std::fs::read(path).map_err(|cause| Failure::file(path, "read", &cause))?;
    let list = members_csv::read(&bytes, runbook).map_err(|problems| {
        Failure::problems("is not a list of members", path, &problems)
            .next("correct it; `stepwell template download` gives a list with every column")
    })?;
    Ok(list.members().collect())
}

/// So many members with a value in every column.
pub(super) fn made_up(count: u32, runbook: &Runbook) -> Vec<MemberRow> {
    let columns = template_columns(runbook);
    let source = &runbook.data_source;
    let is_list = |name: &str| source.multi_valued_columns.iter().any(|it| it.name == name);
    let member = |number: u32| {
        let key = format!("member-{number:05}");
        let value = |name: &str| match name {
            _ if name == source.primary_key => Value::from(key.as_str()),
            _ if is_list(name) => {
                (1..=SEVERAL).map(|place| format!("{name}-{number:05}-{place}")).collect()
            }
            _ => Value::from(format!("{name}-{number:05}")),
        };
        let mut data = Map::new();
        for name in &columns {
            put(&mut data, name, value(name));
        }
        MemberRow { key, data }
    };
    (1..=count).map(member).collect()
}
