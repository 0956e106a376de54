//! What becomes of each invoice of the demo: dealt like cards, so that a seed gives the same counts.

use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

/// What happens to one invoice on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// nothing worth telling
    Smooth,
    /// the first scan fails, the second works
    ScannedTwice,
    /// every scan fails
    Unreadable,
    /// the first worker that checks it falls silent
    Forgotten,
    /// the first worker that checks it falls silent, and answers when it is too late
    Late,
    /// it does not match its order
    Rejected,
    /// a person cancels it while it is checked
    Cancelled,
}

/// The fates of all invoices.
#[derive(Clone, Debug)]
pub(super) struct Script {
    fates: Vec<Fate>,
}

/// How many of a hundred invoices, and at least one.
const SHARES: [(Fate, usize); 4] =
    [(Fate::ScannedTwice, 5), (Fate::Unreadable, 1), (Fate::Forgotten, 3), (Fate::Rejected, 2)];

impl Script {
    /// Deals fates to `count` invoices.
    pub(super) fn new(count: usize, seed: u64) -> Self {
        let mut fates = vec![Fate::Late, Fate::Cancelled];
        for (fate, share) in SHARES {
            fates.extend(std::iter::repeat_n(fate, (count * share / 100).max(1)));
        }
        fates.resize(count, Fate::Smooth);
        fates.shuffle(&mut StdRng::seed_from_u64(seed));
        Self { fates }
    }

    /// The fate of an invoice.
    pub(super) fn of(&self, number: usize) -> Fate {
        self.fates.get(number).copied().unwrap_or(Fate::Smooth)
    }

    /// How many invoices there are.
    pub(super) fn len(&self) -> usize {
        self.fates.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(script: &Script, fate: Fate) -> usize {
        (0..script.len()).filter(|number| script.of(*number) == fate).count()
    }

    #[test]
    fn a_seed_moves_the_fates_but_not_their_counts() {
        let (one, two) = (Script::new(300, 1), Script::new(300, 2));
        assert_ne!(one.fates, two.fates);
        assert_eq!(one.fates, Script::new(300, 1).fates);
        for script in [one, two] {
            assert_eq!(count(&script, Fate::ScannedTwice), 15);
            assert_eq!(count(&script, Fate::Unreadable), 3);
            assert_eq!(count(&script, Fate::Forgotten), 9);
            assert_eq!(count(&script, Fate::Rejected), 6);
            assert_eq!(count(&script, Fate::Late), 1);
            assert_eq!(count(&script, Fate::Cancelled), 1);
        }
    }

    #[test]
    fn a_small_demo_shows_everything_once() {
        let script = Script::new(20, 1);
        assert_eq!(script.len(), 20);
        assert_eq!(count(&script, Fate::Unreadable), 1);
        assert_eq!(count(&script, Fate::Rejected), 1);
    }
}
