//! `stepwell.toml`: every key is known, or the line is shown with what was probably meant.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use stepwell_core::template::near;
use toml::de::{DeTable, DeValue};

use super::table::{SETTINGS, Setting};
use crate::failure::Failure;

/// A configuration file that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct File {
    /// where it is
    pub(crate) path: PathBuf,
    /// what it says, with lines counted from 1
    pub(crate) values: BTreeMap<&'static str, (String, usize)>,
}

impl File {
    /// Reads a file.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let text = std::fs::read_to_string(path)
            .map_err(|cause| Failure::file(path, "read", &cause).next("name another --config"))?;
        Self::parse(path, &text)
    }

    fn parse(path: &Path, text: &str) -> Result<Self, Failure> {
        let table = DeTable::parse(text).map_err(|error| {
            let line = error.span().map_or(1, |span| line_at(text, span.start));
            fault(path, line, error.message())
        })?;
        let mut values = BTreeMap::new();
        for (key, value) in table.get_ref() {
            let line = line_at(text, key.span().start);
            let setting =
                Setting::named(key.get_ref()).ok_or_else(|| unknown(path, line, key.get_ref()))?;
            let value = as_text(value.get_ref()).ok_or_else(|| {
                let kind = value.get_ref().type_str();
                fault(path, line, &format!("{} cannot be of type {kind}", setting.key))
            })?;
            values.insert(setting.key, (value, line));
        }
        Ok(Self { path: path.to_owned(), values })
    }
}

/// Numbers and switches may be written as such; lists become one text with commas.
fn as_text(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) => Some(number.to_string()),
        DeValue::Boolean(switch) => Some(switch.to_string()),
        DeValue::Array(items) => {
            let items: Option<Vec<String>> =
                items.iter().map(|item| item.get_ref().as_str().map(str::to_owned)).collect();
            Some(items?.join(","))
        }
        DeValue::Float(_) | DeValue::Datetime(_) | DeValue::Table(_) => None,
    }
}

fn unknown(path: &Path, line: usize, key: &str) -> Failure {
    let failure = fault(path, line, &format!("there is no setting {key:?}"));
    match near(key, SETTINGS.iter().map(|setting| setting.key)) {
        Some(near) => failure.next(format!("did you mean {near:?}?")),
        None => failure.next("see `stepwell config show` for all settings"),
    }
}

fn fault(path: &Path, line: usize, what: &str) -> Failure {
    Failure::usage(format!("{}:{line}: {what}", path.display()))
}

fn line_at(text: &str, offset: usize) -> usize {
    text.as_bytes()[..offset.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Expect) {
        expected.assert_eq(&match File::parse(Path::new("stepwell.toml"), text) {
            Ok(file) => format!("{:?}", file.values),
            Err(failure) => failure.to_string(),
        });
    }

    #[test]
    fn a_file_may_write_numbers_switches_and_lists_as_such() {
        check(
            "# ours\ntenant_cap = 7\nbehind_proxy = true\nallow_webhook_host = [\"a.b\", \"*.c\"]\n",
            expect![[
                r#"{"allow_webhook_host": ("a.b,*.c", 4), "behind_proxy": ("true", 3), "tenant_cap": ("7", 2)}"#
            ]],
        );
    }

    #[test]
    fn an_unknown_key_is_refused_with_its_line_and_what_was_meant() {
        check(
            "data = \"d\"\ntenant-cap = 7\n",
            expect![[r#"
                error: stepwell.toml:2: there is no setting "tenant-cap"
                  next: did you mean "tenant_cap"?"#]],
        );
        check(
            "[serve]\n",
            expect![[r#"
                error: stepwell.toml:1: there is no setting "serve"
                  next: did you mean "server"?"#]],
        );
    }

    #[test]
    fn a_broken_file_is_refused_with_its_line() {
        check(
            "data = \"d\"\nlisten = \n",
            expect![[
                "error: stepwell.toml:2: string values must be quoted, expected literal string"
            ]],
        );
        check(
            "retention = 1.5\n",
            expect![["error: stepwell.toml:1: retention cannot be of type float"]],
        );
    }
}
