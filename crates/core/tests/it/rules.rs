//! What holds in every life, after every decision.

use std::cell::RefCell;
use std::collections::BTreeSet;

use stepwell_core::command::{Command, StepRef};
use stepwell_core::decide::Decision;
use stepwell_core::effect::Effect;
use stepwell_core::entry::Entry;
use stepwell_core::id::{LeaseId, StepIndex};
use stepwell_core::invariant;
use stepwell_core::run::{Run, RunStatus};
use stepwell_core::step::{SkipReason, StepStatus};

use crate::life::Change;
use crate::lives;

/// Shows every decision of every life; refusals have none.
fn each_decision(check: impl Fn(&Change, &Decision)) {
    lives::each(|life| {
        life.live(|change| {
            if let Ok(decision) = &change.answer {
                check(change, decision);
            }
        });
    });
}

#[test]
fn no_decision_breaks_an_invariant() {
    each_decision(|change, decision| {
        invariant::check_change(&change.before, &decision.run).unwrap();
        invariant::check(&decision.run).unwrap();
    });
}

// D-053, A-088, C-037: what has ended never changes, in no field, whatever comes.
#[test]
fn what_has_ended_never_changes() {
    each_decision(|change, decision| {
        if change.before.status.is_terminal() {
            assert_eq!(decision.run, change.before);
            assert!(decision.entries.is_empty() && decision.effects.is_empty());
        }
        for (old, new) in change.before.steps.iter().zip(&decision.run.steps) {
            if old.status.is_terminal() {
                assert_eq!(old, new);
            }
        }
    });
}

#[test]
fn a_decision_without_entries_changes_nothing_and_wants_nothing() {
    each_decision(|change, decision| {
        if decision.entries.is_empty() {
            assert_eq!(decision.run, change.before);
            assert_eq!(decision.effects, []);
        } else {
            assert_eq!(decision.run.version, change.before.version + 1);
        }
        assert!(decision.run.updated_at >= change.before.updated_at, "history went back");
    });
}

// D-038: a refused message leaves the run as it was. That its fence was wrong is the only way an
// answer for a step under way is refused.
#[test]
fn an_answer_is_refused_exactly_when_its_attempt_or_lease_is_not_in_force() {
    lives::each(|life| {
        life.live(|change| {
            let Command::Report { step, fence, .. } = &change.command else { return };
            let StepRef::Index(step) = step else { return };
            let lease = change.before.steps[step.position()].lease;
            let in_force = lease
                .is_some_and(|lease| (lease.attempt, lease.id) == (fence.attempt, fence.lease));
            assert_eq!(change.answer.is_ok(), in_force, "{:?}", change.answer);
            if let Err(refusal) = &change.answer {
                assert!(refusal.is_stale());
            }
        });
    });
}

// D-040, D-046: attempts are counted 1, 2, 3 without a gap, and no lease is ever minted twice.
#[test]
fn attempts_have_no_gap_and_leases_never_repeat() {
    lives::each(|life| {
        let minted = RefCell::new(BTreeSet::new());
        life.live(|change| {
            change.each_entry(|before, entry, _| {
                if let Entry::StepDispatched { step, attempt, .. } = entry {
                    assert_eq!(*attempt, before.steps[step.position()].attempt + 1);
                }
                if let Some((_, lease)) = minted_by(entry) {
                    assert!(minted.borrow_mut().insert(lease), "{lease} was minted twice");
                }
            });
        });
    });
}

// D-041, X-134: every lease that is recorded is published with its record, and nothing else is. Only
// what a worker goes on with needs no message.
#[test]
fn every_minted_lease_is_published_by_the_decision_that_records_it() {
    each_decision(|change, decision| {
        let minted = decision.entries.iter().filter_map(minted_by);
        let minted: Vec<_> = minted.filter(|(_, lease)| !goes_on(change, *lease)).collect();
        assert_eq!(minted, published(decision));
    });
}

#[test]
fn the_bus_is_told_of_every_lease_that_ends_unless_the_bus_itself_ended_it() {
    each_decision(|change, decision| {
        let mut expected = leases(&change.before);
        expected.extend(published(decision).into_iter().map(|(_, lease)| lease));
        for lease in leases(&decision.run) {
            expected.remove(&lease);
        }
        if let Command::PublishFailed { lease, .. } | Command::Undelivered { lease, .. } =
            &change.command
        {
            expected.remove(lease);
        }
        let withdrawn: Vec<LeaseId> = decision
            .effects
            .iter()
            .filter_map(|effect| match effect {
                Effect::Withdraw(directive) => Some(directive.lease),
                Effect::Publish(_) | Effect::StartRun(_) | Effect::Ended { .. } => None,
            })
            .collect();
        assert_eq!(withdrawn.len(), expected.len(), "{withdrawn:?} and not {expected:?}");
        assert_eq!(withdrawn.into_iter().collect::<BTreeSet<_>>(), expected);
    });
}

// C-031, A-109: the end is told once, and every compensation that is recorded is started.
#[test]
fn the_end_is_told_once_and_recorded_compensations_are_started() {
    each_decision(|change, decision| {
        let ends = decision.run.status.is_terminal() && !change.before.status.is_terminal();
        let told = decision
            .effects
            .iter()
            .filter(|effect| **effect == Effect::Ended { status: decision.run.status })
            .count();
        assert_eq!(told, usize::from(ends));
        let recorded = decision.entries.iter().filter_map(|entry| match entry {
            Entry::CompensationStarted { run, .. } => Some(*run),
            _ => None,
        });
        let started = decision.effects.iter().filter_map(|effect| match effect {
            Effect::StartRun(header) => Some(header.id),
            Effect::Publish(_) | Effect::Withdraw(_) | Effect::Ended { .. } => None,
        });
        assert!(recorded.eq(started));
    });
}

// A-066, D-043, D-051: nothing is dispatched before its turn, behind a closed gate, during a pause,
// or after a cancel.
#[test]
fn nothing_is_dispatched_out_of_turn() {
    lives::each(|life| {
        life.live(|change| {
            change.each_entry(|before, entry, _| {
                let Some((step, _)) = minted_by(entry) else { return };
                assert!(!before.paused, "dispatched during a pause");
                assert_eq!(before.cancel, None, "dispatched after a cancel");
                assert_ne!(before.status, RunStatus::Created, "dispatched before the start");
                let spec = before.spec(step);
                assert!(spec.gate.iter().all(|gate| before.gates_open.contains(gate)));
                assert!(spec.after.iter().all(|step| lets_pass(before, *step)));
                assert_eq!(spec.for_each.is_some(), before.is_item(step), "only items are done");
                let begins = before.steps[step.position()].status == StepStatus::Waiting;
                if begins && before.is_item(step) {
                    assert!(begun_siblings(before, step) < parallel_max(before, step));
                }
            });
        });
    });
}

// every wait is a row. What moves by itself has a moment; what does not says for whom
// it waits.
#[test]
fn whatever_has_not_ended_says_what_it_waits_for_and_has_a_moment_unless_somebody_must_act() {
    each_decision(|_, decision| {
        let run = &decision.run;
        for (index, step) in run.indexed() {
            let word = run.waiting_for(index);
            assert_eq!(word.is_none(), step.status.is_terminal());
            let has_moment = match word {
                Some("worker" | "retry" | "poll" | "poll_answer") => step.wake_at.is_some(),
                // It rests with the run, or until what goes on elsewhere lets the run rest.
                Some("run_retry") => {
                    run.retry_at.is_some() || run.wake_at().is_some() || run.paused
                }
                Some("gate") => !run.gates_open.contains(gate_of(run, index)),
                Some("resume") => run.paused,
                Some("start") => run.status == RunStatus::Created,
                Some("items") => run.steps.iter().any(|step| !step.status.is_terminal()),
                Some("turn") => {
                    let waits_with_its_step = begun_siblings(run, index) == 0;
                    waits_with_its_step || begun_siblings(run, index) >= parallel_max(run, index)
                }
                Some("steps") | None => true,
                Some(other) => panic!("{other} is no word for a wait"),
            };
            assert!(has_moment, "{word:?}: {step:?}");
        }
    });
}

fn gate_of(run: &Run, step: StepIndex) -> &str {
    run.spec(step).gate.as_deref().expect("only a step behind a gate waits for one")
}

/// The step and the lease of a directive that this entry records.
fn minted_by(entry: &Entry) -> Option<(StepIndex, LeaseId)> {
    match entry {
        Entry::StepDispatched { step, lease, .. } | Entry::PollDispatched { step, lease, .. } => {
            Some((*step, *lease))
        }
        _ => None,
    }
}

/// The leases whose messages are with the bus. A worker that keeps an attempt has taken its message.
fn leases(run: &Run) -> BTreeSet<LeaseId> {
    let with_bus = run.indexed().filter(|(index, _)| !run.is_kept(*index));
    with_bus.filter_map(|(_, step)| step.lease.map(|lease| lease.id)).collect()
}

/// The lease is that of the step with which the worker that has just reported goes on.
fn goes_on(change: &Change, lease: LeaseId) -> bool {
    let Command::Report { fence, .. } = &change.command else { return false };
    let Ok(decision) = &change.answer else { return false };
    decision.entries.iter().any(|entry| match entry {
        Entry::StepDispatched { step, attempt, lease: minted, .. } => {
            *minted == lease && lease == fence.lease.for_next(*step, *attempt)
        }
        _ => false,
    })
}

fn published(decision: &Decision) -> Vec<(StepIndex, LeaseId)> {
    let effects = decision.effects.iter().filter_map(|effect| match effect {
        Effect::Publish(directive) => Some((directive.step, directive.lease)),
        Effect::Withdraw(_) | Effect::StartRun(_) | Effect::Ended { .. } => None,
    });
    effects.collect()
}

/// How many items of the same step have begun and have not ended; counted one by one.
fn begun_siblings(run: &Run, item: StepIndex) -> usize {
    let of_same_step =
        |other: &StepIndex| run.is_item(*other) && run.own_step(*other) == run.own_step(item);
    run.indexed()
        .filter(|(other, _)| of_same_step(other))
        .filter(|(_, step)| step.status != StepStatus::Waiting && !step.status.is_terminal())
        .count()
}

fn parallel_max(run: &Run, item: StepIndex) -> usize {
    let for_each = run.spec(item).for_each.as_ref().expect("only steps with a list have items");
    for_each.parallel_max.map_or(usize::MAX, usize::from)
}

/// A small second opinion: written from the requirements, not from the code.
fn lets_pass(run: &Run, step: StepIndex) -> bool {
    let state = &run.steps[step.position()];
    let spec = run.spec(step);
    match state.status {
        // A step that was settled before its turn does not let others overtake what is before it.
        StepStatus::Succeeded => spec.after.iter().all(|before| lets_pass(run, *before)),
        StepStatus::Skipped => {
            // Its own condition is asked when everything before it has let it pass.
            state.skip == Some(SkipReason::Condition)
                || state.skip == Some(SkipReason::Operator)
                    && spec.after.iter().all(|before| lets_pass(run, *before))
        }
        StepStatus::Failed | StepStatus::TimedOut => spec.continue_on_failure,
        _ => false,
    }
}
