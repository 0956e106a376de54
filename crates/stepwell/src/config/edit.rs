//! Changing one line of `stepwell.toml`, and nothing else of it.

use std::path::Path;

use toml::de::DeTable;

use super::file::File;
use super::table::{Kind, Setting};
use crate::failure::Failure;
use crate::private_file;

/// Writes a setting into a configuration file, which is made if there is none.
pub(crate) fn set(path: &Path, setting: &Setting, value: &str) -> Result<(), Failure> {
    if let Some(fault) = setting.kind.fault(value) {
        let shown = setting.shown(value);
        return Err(Failure::usage(format!("{} {shown:?} is not valid", setting.key)).next(fault));
    }
    let text = match std::fs::read_to_string(path) {
        Ok(text) => {
            // A file with a fault is not made worse.
            File::read(path)?;
            text
        }
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(cause) => return Err(Failure::file(path, "read", &cause)),
    };
    // Whoever may read the file now shall go on to, unless it is to hold a secret.
    let kept = std::fs::metadata(path).ok().filter(|_| setting.kind != Kind::Secret);
    private_file::write(path, &with(&text, setting.key, value))?;
    match kept {
        Some(kept) => std::fs::set_permissions(path, kept.permissions())
            .map_err(|cause| Failure::file(path, "written", &cause)),
        None => Ok(()),
    }
}

/// The text with a value in place of the one that was there, or at the end.
fn with(text: &str, key: &str, value: &str) -> String {
    let quoted = toml::Value::from(value).to_string();
    let table = DeTable::parse(text).ok();
    let found = table.as_ref().and_then(|table| table.get_ref().get(key));
    if let Some(span) = found.map(toml::Spanned::span) {
        return format!("{}{quoted}{}", &text[..span.start], &text[span.end..]);
    }
    let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    format!("{text}{gap}{key} = {quoted}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_value_changes_and_comments_stay() {
        let text = "# ours\nserver = \"http://a\" # the old one\nroles = [\n  \"api\",\n]\n";
        assert_eq!(
            with(text, "server", "http://b"),
            "# ours\nserver = \"http://b\" # the old one\nroles = [\n  \"api\",\n]\n"
        );
        assert_eq!(
            with(text, "roles", "engine"),
            "# ours\nserver = \"http://a\" # the old one\nroles = \"engine\"\n"
        );
        assert_eq!(with("a = 1", "output", "json"), "a = 1\noutput = \"json\"\n");
        assert_eq!(with("", "output", "js\"on"), "output = 'js\"on'\n");
    }
}
