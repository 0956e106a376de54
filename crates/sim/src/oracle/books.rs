//! Credits, counted a second time: what jobs hold and have spent, against accounts and their ledgers.

use std::collections::{BTreeMap, BTreeSet};

use stepwell_core::credit::{CreditState, CreditTerms, Credits, Movement, MovementKind, Restore};
use stepwell_core::entry::{Entry, Record};
use stepwell_core::id::{LeaseId, RunId, StepIndex, Tenant};
use stepwell_core::run::{Header, Run};
use stepwell_store::{Account, LedgerLine};

use super::jobs::{done_under, lease_before};
use super::rules::{BOOKED_ONCE, BOOKS_BALANCE, COVERED_FIRST, SETTLED_AT_END, Violation};
use super::{Oracle, Probe};
use crate::jobs::price;

/// Nothing.
const NONE: Credits = Credits::ZERO;

/// The account of a tenant after a commit, with all of its ledger.
#[derive(Clone, Debug)]
pub struct BooksSeen {
    /// whose
    pub tenant: Tenant,
    /// as it stands
    pub account: Account,
    /// every line, oldest first
    pub lines: Vec<LedgerLine>,
}

impl Oracle {
    /// An account was read back.
    pub(super) fn books_balance(&mut self, seen: &BooksSeen) -> Result<(), Violation> {
        chained(seen)?;
        self.folded(seen)?;
        let tenant = &seen.tenant;
        let Some(lines) = self.jobs.lines.get(tenant) else { return Ok(()) };
        let mut moved: BTreeMap<RunId, CreditState> = BTreeMap::new();
        for line in lines.values() {
            if let Some(run) = line.run {
                let state = moved.entry(run).or_default();
                *state = state.after(&line.movement);
            }
        }
        let of_tenant = self.runs.values().filter(|it| it.replayed.header.tenant == *tenant);
        for run in of_tenant.map(|watched| &watched.replayed) {
            let held = run.credits.filter(|_| is_charged(&run.header)).unwrap_or_default();
            let booked = moved.remove(&run.id()).unwrap_or_default();
            BOOKS_BALANCE.check(held == booked, || {
                format!("{} holds {held:?}, and {booked:?} is booked for it", run.id())
            })?;
        }
        BOOKS_BALANCE.check(moved.is_empty(), || format!("nobody knows {moved:?}"))?;
        granted_once(lines.values())?;
        let promised = |line: &&LedgerLine| line.movement.kind == MovementKind::Reserved;
        let uncovered = lines.values().filter(promised).find(|line| line.after.balance < NONE);
        COVERED_FIRST.check(uncovered.is_none(), || format!("{uncovered:?}"))
    }

    /// Remembers the lines that are new, and compares those that stand for others with what they were.
    fn folded(&mut self, seen: &BooksSeen) -> Result<(), Violation> {
        let known = self.jobs.lines.entry(seen.tenant.clone()).or_default();
        let (mut upto, mut carried) = (0, false);
        for line in &seen.lines {
            if line.movement.kind == MovementKind::Carried {
                let parts: Vec<&LedgerLine> =
                    known.range(upto + 1..=line.id).map(|(_, line)| line).collect();
                BOOKS_BALANCE.check(stands_for(line, &parts), || {
                    format!("{line:?} does not stand for {parts:?}")
                })?;
                carried = true;
            } else {
                known.insert(line.id, line.clone());
                let lost = known.range(upto + 1..line.id).next();
                BOOKS_BALANCE.check(lost.is_none(), || format!("{lost:?} is no longer told"))?;
            }
            upto = line.id;
        }
        if carried {
            self.saw(Probe::Folded);
        }
        Ok(())
    }

    /// A job was refused for its price.
    pub(super) fn is_short(&self, header: &Header, balance: Credits) -> Result<(), Violation> {
        let estimate = credit_terms(header).map(|terms| terms.estimate);
        COVERED_FIRST.check(estimate.is_some_and(|estimate| estimate > balance), || {
            format!("{} was refused for {estimate:?} of {balance}", header.id)
        })
    }

    /// Reads what a record moves.
    pub(super) fn spends(&mut self, before: &Run, record: &Record) -> Result<(), Violation> {
        let Some(terms) = credit_terms(&before.header) else { return Ok(()) };
        let moved: Vec<&Movement> = record.entries.iter().filter_map(movement).collect();
        for (place, entry) in record.entries.iter().enumerate() {
            match movement(entry) {
                Some(it) if it.kind == MovementKind::Spent => {
                    // What the report says of its step follows what it spent.
                    let of = record.entries[place..].iter().find_map(Entry::step);
                    self.spent(before, it, of)?;
                }
                Some(it) if it.kind == MovementKind::Restored => self.saw(Probe::Restored),
                _ => {}
            }
        }
        let unpaid = |lease: &LeaseId| price(*lease) > NONE && !self.jobs.paid.contains(lease);
        let unpaid = done_under(before, record).into_iter().find(unpaid);
        BOOKED_ONCE.check(unpaid.is_none(), || format!("nothing was booked for {unpaid:?}"))?;
        let end = record.entries.iter().find(|entry| is_end(entry));
        end.map_or(Ok(()), |end| settled(terms, before, &moved, end))
    }

    fn spent(
        &mut self,
        before: &Run,
        movement: &Movement,
        of: Option<StepIndex>,
    ) -> Result<(), Violation> {
        if movement.balance < NONE {
            self.saw(Probe::Overspent);
        }
        let paid = &mut self.jobs.paid;
        let owed = of
            .and_then(|step| lease_before(before, step))
            .filter(|lease| price(*lease) == movement.spent && !paid.contains(lease));
        BOOKED_ONCE.check(owed.is_some(), || {
            format!("nobody who was at {} spent {} on it", before.id(), movement.spent)
        })?;
        paid.extend(owed);
        Ok(())
    }
}

/// What is left when a job ends: nothing is set aside, and spent is what was not given back.
fn settled(
    terms: CreditTerms,
    before: &Run,
    moved: &[&Movement],
    end: &Entry,
) -> Result<(), Violation> {
    let Some(credits) = before.credits else { return Ok(()) };
    let last = moved.iter().fold(credits, |state, movement| state.after(movement));
    let spent_now = moved.iter().filter(|it| it.kind == MovementKind::Spent);
    let spent = spent_now.fold(credits.spent, |sum, movement| sum + movement.spent);
    let comes_back = match terms.restore {
        Restore::Never => false,
        Restore::Failed => matches!(end, Entry::RunFailed { .. }),
        Restore::Unfinished => *end != Entry::RunSucceeded,
    };
    let expected = CreditState { reserved: NONE, spent: if comes_back { NONE } else { spent } };
    SETTLED_AT_END.check(last == expected, || {
        format!("{} ended ({}) with {last:?}, not {expected:?}", before.id(), end.word())
    })
}

/// Each line leads from the one before to what it says, and the last one to the account.
fn chained(seen: &BooksSeen) -> Result<(), Violation> {
    let BooksSeen { tenant, account, lines } = seen;
    let mut sum = Account::default();
    for line in lines {
        sum = sum.after(&line.movement);
        BOOKS_BALANCE.check(sum == line.after, || {
            format!("{tenant} had {sum:?}, and its ledger says {line:?}")
        })?;
    }
    BOOKS_BALANCE
        .check(sum == *account, || format!("{tenant} has {account:?}, and its ledger says {sum:?}"))
}

/// Whether a carried line is what these lines were: of runs, of one day, and as much as all of them.
fn stands_for(line: &LedgerLine, parts: &[&LedgerLine]) -> bool {
    let zero = Movement { kind: MovementKind::Carried, balance: NONE, reserved: NONE, spent: NONE };
    let sum = parts.iter().fold(zero, |sum, part| sum.carried_with(&part.movement));
    let newest = parts.last().is_some_and(|it| (it.id, it.at) == (line.id, line.at));
    newest
        && line.movement == sum
        && line.run.is_none()
        && parts.iter().all(|part| part.run.is_some() && part.day() == line.day())
}

/// A grant has one line, however often it was asked for.
fn granted_once<'a>(lines: impl Iterator<Item = &'a LedgerLine>) -> Result<(), Violation> {
    let mut reasons = BTreeSet::new();
    let granted = lines.filter(|line| line.run.is_none());
    let mut twice = granted.filter(|line| !reasons.insert(&line.reason));
    let twice = twice.next();
    BOOKS_BALANCE.check(twice.is_none(), || format!("{twice:?} was granted twice"))
}

fn movement(entry: &Entry) -> Option<&Movement> {
    match entry {
        Entry::CreditsMoved { movement } => Some(movement),
        _ => None,
    }
}

fn is_end(entry: &Entry) -> bool {
    matches!(entry, Entry::RunSucceeded | Entry::RunFailed { .. } | Entry::RunCancelled)
}

fn credit_terms(header: &Header) -> Option<CreditTerms> {
    header.terms.as_ref().and_then(|terms| terms.credits)
}

fn is_charged(header: &Header) -> bool {
    credit_terms(header).is_some_and(|terms| terms.charged)
}
