//! The name that was probably meant.

/// Longer names are not compared: the work grows with the product of both lengths.
const COMPARED_CHARS_MAX: usize = 64;

/// The candidate nearest to `name`, if it is near enough to be worth suggesting.
///
/// Near means that about a third of the characters, at most three, are wrong, missing, extra or
/// swapped with their neighbor; capitals are ignored. Of equally near candidates the first wins.
#[must_use]
pub fn near<'c>(name: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let name = folded(name)?;
    let distance_max = (name.len() / 3).clamp(1, 3);
    candidates
        .into_iter()
        .filter_map(|candidate| Some((distance(&name, &folded(candidate)?), candidate)))
        .filter(|(distance, _)| *distance <= distance_max && *distance < name.len())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

fn folded(text: &str) -> Option<Vec<char>> {
    let folded: Vec<char> =
        text.chars().flat_map(char::to_lowercase).take(COMPARED_CHARS_MAX + 1).collect();
    (folded.len() <= COMPARED_CHARS_MAX).then_some(folded)
}

/// How many single-character edits, swaps of neighbors included, lead from one text to the other.
fn distance(from: &[char], to: &[char]) -> usize {
    // Three rows of the usual table are enough: a swap looks two rows back, nothing looks further.
    let mut before: Vec<usize> = vec![0; to.len() + 1];
    let mut above: Vec<usize> = (0..=to.len()).collect();
    for (row, &removed) in from.iter().enumerate() {
        let mut current = vec![row + 1; to.len() + 1];
        for (column, &added) in to.iter().enumerate() {
            let replaced = above[column] + usize::from(removed != added);
            let mut best = replaced.min(above[column + 1] + 1).min(current[column] + 1);
            let swapped =
                row > 0 && column > 0 && removed == to[column - 1] && from[row - 1] == added;
            if swapped {
                best = best.min(before[column - 1] + 1);
            }
            current[column + 1] = best;
        }
        before = std::mem::replace(&mut above, current);
    }
    above[to.len()]
}

#[cfg(test)]
mod tests {
    use super::near;

    #[test]
    fn a_slip_of_the_pen_is_recognized() {
        let known = ["fetch", "transform", "load"];
        assert_eq!(near("fetchh", known), Some("fetch"));
        assert_eq!(near("tranfsorm", known), Some("transform"));
        assert_eq!(near("LOAD", known), Some("load"));
    }

    #[test]
    fn a_different_word_is_not_suggested() {
        assert_eq!(near("id", ["to", "mail"]), None);
        assert_eq!(near("", ["a", "mail"]), None);
        assert_eq!(near("approve", ["fetch", "load"]), None);
    }

    #[test]
    fn the_nearest_of_several_wins() {
        assert_eq!(near("step-12", ["step-1", "step-2", "step-12b"]), Some("step-1"));
        assert_eq!(near("mail", ["mails", "main", "mail2", "MAIL"]), Some("MAIL"));
    }

    #[test]
    fn a_very_long_name_is_not_compared() {
        let long = "x".repeat(1_000_000);
        assert_eq!(near(&long, [long.as_str(), "x"]), None);
    }
}
