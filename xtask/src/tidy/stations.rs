//! The way of the data is written in the files: `//! Station 3 …` begins the third station.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use super::Violation;
use crate::source::Source;

const STATIONS: RangeInclusive<u8> = 1..=8;

/// As soon as one station is marked, all eight are, and no ninth.
pub(super) fn missing(sources: &[Source]) -> Vec<Violation> {
    let marked: Vec<(&Source, u8)> =
        sources.iter().filter_map(|source| Some((source, station(source)?))).collect();
    if marked.is_empty() {
        return Vec::new();
    }
    let numbers: BTreeSet<u8> = marked.iter().map(|(_, number)| *number).collect();
    let absent = STATIONS.filter(|number| !numbers.contains(number)).map(|number| {
        let message = format!(
            "no file begins with `//! Station {number}`; mark the file where that station lies"
        );
        Violation::of("crates", message)
    });
    let strange =
        marked.iter().filter(|(_, number)| !STATIONS.contains(number)).map(|(source, number)| {
            let message = format!("there is no station {number}; stations are 1 to 8");
            Violation::at(&source.path, 0, message)
        });
    absent.chain(strange).collect()
}

fn station(source: &Source) -> Option<u8> {
    let rest = source.lines.first()?.strip_prefix("//! Station ")?;
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(numbers: impl IntoIterator<Item = u8>) -> Vec<Source> {
        let text = |number| format!("//! Station {number}: somewhere on the way.\n");
        numbers.into_iter().map(|number| Source::new("a.rs", &text(number))).collect()
    }

    #[test]
    fn a_tree_without_stations_passes() {
        assert_eq!(missing(&[Source::new("a.rs", "//! Lanes.\n")]), []);
    }

    #[test]
    fn all_eight_stations_pass_also_when_one_has_several_files() {
        assert_eq!(missing(&marked((1..=8).chain([4]))), []);
    }

    #[test]
    fn a_missing_and_a_ninth_station_are_caught() {
        assert_eq!(missing(&marked(1..=7)).len(), 1);
        assert_eq!(missing(&marked(1..=9)).len(), 1);
    }
}
