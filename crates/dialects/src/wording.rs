//! From a word of a wire back to what it stands for.

/// Everything that is shown as this word; `None` if nothing is.
pub(crate) fn meant<S: Copy>(
    all: impl IntoIterator<Item = S>,
    word: &str,
    shown: fn(S) -> &'static str,
) -> Option<Vec<S>> {
    let found: Vec<S> = all.into_iter().filter(|it| shown(*it) == word).collect();
    (!found.is_empty()).then_some(found)
}
