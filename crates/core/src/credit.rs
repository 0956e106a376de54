//! Credits: what a run may spend, has set aside and has spent.
//!
//! Amounts are whole millionths, so that sums are exact. The balance of an account is what its owner
//! may still promise: a reservation leaves it at once, and what is not spent of it comes back.

use std::fmt;
use std::ops::{Add, Neg, Sub};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// An amount of credits, in millionths.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Credits(pub i64);

/// Millionths of a credit.
const UNIT: i64 = 1_000_000;

impl Credits {
    /// None.
    pub const ZERO: Self = Self(0);

    /// Whole credits.
    #[must_use]
    pub const fn whole(count: i64) -> Self {
        Self(count.saturating_mul(UNIT))
    }
}

impl Add for Credits {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for Credits {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Neg for Credits {
    type Output = Self;

    fn neg(self) -> Self {
        Self(self.0.saturating_neg())
    }
}

impl fmt::Display for Credits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.0.unsigned_abs() / 1_000_000, self.0.unsigned_abs() % 1_000_000);
        let sign = if self.0 < 0 { "-" } else { "" };
        if rest == 0 {
            return write!(f, "{sign}{whole}");
        }
        let rest = format!("{rest:06}");
        write!(f, "{sign}{whole}.{}", rest.trim_end_matches('0'))
    }
}

/// Why a text is no amount of credits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an amount of credits is a decimal number with at most six digits after the point")]
pub struct NotCredits;

impl FromStr for Credits {
    type Err = NotCredits;

    fn from_str(text: &str) -> Result<Self, NotCredits> {
        let (negative, digits) = match text.strip_prefix('-') {
            Some(digits) => (true, digits),
            None => (false, text),
        };
        let (whole, rest) = digits.split_once('.').unwrap_or((digits, "0"));
        let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|it| it.is_ascii_digit());
        if !is_digits(whole) || !is_digits(rest) || rest.len() > 6 {
            return Err(NotCredits);
        }
        let whole: i64 = whole.parse().map_err(|_| NotCredits)?;
        let rest: i64 = format!("{rest:0<6}").parse().map_err(|_| NotCredits)?;
        let amount = whole.checked_mul(UNIT).and_then(|it| it.checked_add(rest));
        let amount = amount.ok_or(NotCredits)?;
        Ok(Self(if negative { -amount } else { amount }))
    }
}

/// What a run has set aside and spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreditState {
    /// set aside for it and not spent yet
    pub reserved: Credits,
    /// spent so far, restored amounts taken off
    pub spent: Credits,
}

/// What a run is promised in credits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreditTerms {
    /// what it will probably cost; set aside when it is created
    pub estimate: Credits,
    /// when spent credits come back
    pub restore: Restore,
    /// they are taken from an account; otherwise they are only counted
    pub charged: bool,
}

/// When spent credits come back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Restore {
    /// never: work was done, whatever became of it
    #[default]
    Never,
    /// when the run fails for good
    Failed,
    /// when the run fails for good or is cancelled
    Unfinished,
}

/// A movement in the account of a tenant. The sums of all its movements are its figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Movement {
    /// what it is
    pub kind: MovementKind,
    /// what it adds to the balance
    pub balance: Credits,
    /// what it adds to what is set aside
    pub reserved: Credits,
    /// what it adds to what was spent
    pub spent: Credits,
}

impl Movement {
    /// One movement that stands for two, this one and one that follows it.
    #[must_use]
    pub fn carried_with(self, next: &Self) -> Self {
        Self {
            kind: MovementKind::Carried,
            balance: self.balance + next.balance,
            reserved: self.reserved + next.reserved,
            spent: self.spent + next.spent,
        }
    }
}

/// What a movement is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MovementKind {
    /// somebody put credits in, or took them out
    Granted,
    /// a run set its estimate aside
    Reserved,
    /// a run spent some
    Spent,
    /// a run ended, and what it had set aside came back
    Released,
    /// a run failed, and what it had spent came back
    Restored,
    /// what runs moved on a day that is long past, in one line
    Carried,
}

impl MovementKind {
    /// Every kind.
    pub const ALL: [Self; 6] =
        [Self::Granted, Self::Reserved, Self::Spent, Self::Released, Self::Restored, Self::Carried];

    /// The word stored and shown.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Granted => "granted",
            Self::Reserved => "reserved",
            Self::Spent => "spent",
            Self::Released => "released",
            Self::Restored => "restored",
            Self::Carried => "carried",
        }
    }

    /// The kind of a stored word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }
}

impl CreditState {
    /// Sets an amount aside.
    #[must_use]
    pub fn reserve(amount: Credits) -> Movement {
        Movement {
            kind: MovementKind::Reserved,
            balance: -amount,
            reserved: amount,
            spent: Credits::ZERO,
        }
    }

    /// Spends an amount: what was set aside first, and beyond it from the balance, which may fall below
    /// zero, because the work is done.
    #[must_use]
    pub fn spend(self, amount: Credits) -> Movement {
        let from_reserve = amount.min(self.reserved);
        Movement {
            kind: MovementKind::Spent,
            balance: from_reserve - amount,
            reserved: -from_reserve,
            spent: amount,
        }
    }

    /// Gives back what was set aside and not spent; `None` if nothing is left of it.
    #[must_use]
    pub fn release(self) -> Option<Movement> {
        (self.reserved > Credits::ZERO).then(|| Movement {
            kind: MovementKind::Released,
            balance: self.reserved,
            reserved: -self.reserved,
            spent: Credits::ZERO,
        })
    }

    /// Gives back what was spent; `None` if nothing was.
    #[must_use]
    pub fn restore(self) -> Option<Movement> {
        (self.spent > Credits::ZERO).then(|| Movement {
            kind: MovementKind::Restored,
            balance: self.spent,
            reserved: Credits::ZERO,
            spent: -self.spent,
        })
    }

    /// What a movement makes of it.
    #[must_use]
    pub fn after(self, movement: &Movement) -> Self {
        Self { reserved: self.reserved + movement.reserved, spent: self.spent + movement.spent }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // C-011
    #[test]
    fn an_amount_reads_as_it_is_written() {
        for text in ["0", "12", "-3", "0.5", "7.000001", "-0.25", "9223372036854"] {
            let amount: Credits = text.parse().expect("an amount");
            assert_eq!(amount.to_string(), text);
        }
        assert_eq!("1.50".parse(), Ok(Credits(1_500_000)));
        for text in ["", "-", "1.", ".5", "1e3", "0.0000001", "1 ", "9223372036855"] {
            assert_eq!(text.parse::<Credits>(), Err(NotCredits), "{text:?}");
        }
    }

    // what is spent beyond the estimate comes from the balance; nothing is made or lost on the way.
    #[test]
    fn what_was_set_aside_is_spent_first_and_the_rest_comes_back() {
        let mut state = CreditState::default();
        let mut balance = Credits::whole(100);
        let mut take = |state: &mut CreditState, movement: Movement| {
            *state = state.after(&movement);
            balance = balance + movement.balance;
            balance
        };
        assert_eq!(take(&mut state, CreditState::reserve(Credits::whole(10))), Credits::whole(90));
        let spend = state.spend(Credits::whole(4));
        assert_eq!(take(&mut state, spend), Credits::whole(90));
        let spend = state.spend(Credits::whole(9));
        assert_eq!(take(&mut state, spend), Credits::whole(87));
        assert_eq!(state.release(), None, "all of it was spent");
        let restore = state.restore().expect("13 were spent");
        assert_eq!(take(&mut state, restore), Credits::whole(100));
        assert_eq!(state, CreditState::default());
    }

    // a ledger that is folded tells the same sums.
    #[test]
    fn what_is_carried_in_one_line_moves_as_much_as_its_parts() {
        let reserved = CreditState::reserve(Credits::whole(10));
        let state = CreditState::default().after(&reserved);
        let spent = state.spend(Credits::whole(13));
        let carried = reserved.carried_with(&spent);
        assert_eq!(CreditState::default().after(&carried), state.after(&spent));
        assert_eq!(
            (carried.kind, carried.balance),
            (MovementKind::Carried, reserved.balance + spent.balance)
        );
    }
}
