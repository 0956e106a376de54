//! A hash over a history: the same on both sides, or something was lost on the way.

use sha2::{Digest as _, Sha256};

/// A hash that grows with every record, in the order of runs and versions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Digest(Sha256);

impl Digest {
    /// Adds one record.
    pub(crate) fn add(&mut self, run: &[u8; 16], version: i64, at: i64, entries: &str) {
        self.0.update(run);
        self.0.update(version.to_be_bytes());
        self.0.update(at.to_be_bytes());
        // With its length, or the end of one record could pass for the beginning of the next.
        self.0.update((entries.len() as u64).to_be_bytes());
        self.0.update(entries);
    }

    /// The hash as people compare it.
    pub(crate) fn finish(self) -> String {
        self.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(records: &[([u8; 16], i64, i64, &str)]) -> String {
        let mut digest = Digest::default();
        for (run, version, at, entries) in records {
            digest.add(run, *version, *at, entries);
        }
        digest.finish()
    }

    #[test]
    fn whatever_differs_in_a_history_differs_in_its_hash() {
        let (one, two) = ([1; 16], [2; 16]);
        let history = [(one, 1, 5, "[a]"), (two, 1, 6, "[b]")];
        assert_eq!(digest(&history), digest(&history));
        let others = [
            vec![(one, 1, 5, "[a]")],
            vec![(two, 1, 5, "[a]"), (one, 1, 6, "[b]")],
            vec![(one, 2, 5, "[a]"), (two, 1, 6, "[b]")],
            vec![(one, 1, 6, "[a]"), (two, 1, 6, "[b]")],
            vec![(one, 1, 5, "[c]"), (two, 1, 6, "[b]")],
        ];
        for other in others {
            assert_ne!(digest(&other), digest(&history), "{other:?}");
        }
    }
}
