//! Names that match without regard to capitals, as placeholders do.

use std::collections::BTreeMap;

/// Values by name; of names that differ in capitals alone, the first one counts.
///
/// Templates match such names one by one. A document may have thousands of them, and then a map is
/// what keeps the check short.
#[derive(Debug)]
pub(super) struct Folded<'n, V> {
    entries: BTreeMap<String, (&'n str, V)>,
}

impl<'n, V> FromIterator<(&'n str, V)> for Folded<'n, V> {
    fn from_iter<I: IntoIterator<Item = (&'n str, V)>>(names: I) -> Self {
        let mut entries = BTreeMap::new();
        for (name, value) in names {
            entries.entry(fold(name)).or_insert((name, value));
        }
        Self { entries }
    }
}

impl<'n, V> Folded<'n, V> {
    /// The value of a placeholder's name: of the whole name, or else of what stands before its
    /// first dot.
    pub(super) fn find(&self, name: &str) -> Option<&V> {
        let whole = fold(name);
        let head = whole.split('.').next().unwrap_or_default();
        let entry = self.entries.get(&whole).or_else(|| self.entries.get(head));
        entry.map(|(_, value)| value)
    }

    /// Whether a placeholder's name can be found.
    pub(super) fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// The names as they are written.
    pub(super) fn names(&self) -> impl Iterator<Item = &'n str> {
        self.entries.values().map(|(name, _)| *name)
    }
}

fn fold(name: &str) -> String {
    name.chars().flat_map(char::to_lowercase).collect()
}
