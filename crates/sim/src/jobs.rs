//! Jobs of workspaces: what each is granted, and what its workers spend.

use stepwell_core::credit::{CreditTerms, Credits, Restore};
use stepwell_core::duration::Interval;
use stepwell_core::id::LeaseId;
use stepwell_core::retry::{Delay, RetryPolicy};
use stepwell_core::terms::{Keeping, Terms};

use crate::chance::Chance;

/// Seconds between attempts: a short ladder, and the usual one.
const LADDERS: [&[u64]; 2] = [&[1, 5, 20], &[30, 120, 600, 1_800]];

/// Draws what a job is granted.
pub(crate) fn terms(chance: &mut Chance) -> Terms {
    let ladder = LADDERS[chance.index(LADDERS.len())];
    let run_retry = RetryPolicy {
        attempts_max: 1 + chance.index(6) as u32,
        delay: Delay::List(ladder.iter().copied().map(Interval::from_secs).collect()),
        jitter_percent: *chance.one_of(&[0, 10]),
    };
    let keeping = Keeping {
        lease: Interval::from_secs(chance.between(20, 120)),
        unclaimed: Interval::from_secs(chance.between(180, 1_200)),
    };
    Terms { run_retry: Some(run_retry), keeping: Some(keeping), credits: credits(chance) }
}

/// Most jobs have a price, and most of those an account that pays it.
fn credits(chance: &mut Chance) -> Option<CreditTerms> {
    let terms = CreditTerms {
        estimate: Credits::whole(chance.between(0, 8).try_into().unwrap_or(0)),
        restore: *chance.one_of(&[Restore::Never, Restore::Failed, Restore::Unfinished]),
        charged: chance.permille(750),
    };
    chance.permille(850).then_some(terms)
}

/// What a worker spends on an attempt of a step: nothing, or up to three. Whoever knows the lease knows
/// it, so that a report that is sent twice says the same, and the oracle can tell what must be booked.
pub(crate) fn price(lease: LeaseId) -> Credits {
    Credits::whole((lease.0.as_u128() & 3) as i64)
}
