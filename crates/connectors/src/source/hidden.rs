//! What must not be repeated.

/// Enough to see why; a server may answer with a page.
const SHOWN_MAX: usize = 500;

/// Shorter texts occur in any message by chance, and are no secrets.
const SECRET_BYTES_MIN: usize = 4;

/// Texts that must not appear in an error, because they came from the environment.
#[derive(Clone, Default)]
pub(super) struct Hidden {
    secrets: Vec<String>,
}

impl Hidden {
    pub(super) fn new(secrets: impl IntoIterator<Item = String>) -> Self {
        let mut secrets: Vec<String> =
            secrets.into_iter().filter(|secret| secret.len() >= SECRET_BYTES_MIN).collect();
        // A whole value goes before its parts, so that no rest of it is left.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        Self { secrets }
    }

    /// What somebody else said, without secrets, in one line, and not too long.
    pub(super) fn shown(&self, said: &str) -> String {
        let mut said = said.to_owned();
        for secret in &self.secrets {
            if said.contains(secret.as_str()) {
                said = said.replace(secret.as_str(), "[hidden]");
            }
        }
        let words: Vec<&str> = said
            .split(|c: char| c.is_whitespace() || c.is_control())
            .filter(|it| !it.is_empty())
            .collect();
        let line = words.join(" ");
        // What follows it goes on with the sentence.
        let line = line.trim_end_matches('.');
        match line.char_indices().nth(SHOWN_MAX) {
            Some((end, _)) => format!("{}…", &line[..end]),
            None => line.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_somebody_said_is_shown_in_one_short_line_without_secrets() {
        let hidden = Hidden::new(["postgres://ada:s3cret@db/x", "s3cret", "ab"].map(str::to_owned));
        assert_eq!(
            hidden.shown("bad\n\turl postgres://ada:s3cret@db/x,\u{1b} not s3cret ab"),
            "bad url [hidden], not [hidden] ab"
        );
        assert!(hidden.shown(&"ä".repeat(10_000)).chars().count() <= SHOWN_MAX + 1);
    }
}
