//! What holds in every life in which one worker does all steps of an attempt, and of credits in any.

use std::cell::RefCell;

use stepwell_core::command::{Command, StepRef};
use stepwell_core::credit::{CreditState, Credits};
use stepwell_core::entry::Entry;
use stepwell_core::run::{Run, RunStatus};
use stepwell_core::step::{Outcome, StepStatus};

use crate::life::Change;
use crate::lives;

/// Shows every change of every life in which one worker keeps an attempt.
fn each_kept(check: impl Fn(&Change)) {
    lives::each(|life| {
        life.live(|change| {
            if change.before.keeping().is_some() {
                check(change);
            }
        });
    });
}

// X-122, C-023, C-024: pending, queued, running, failed and the three ends; no other way leads from one to
// another, and none out of an end. A run that needs no worker, or can have none, ends as it begins.
#[test]
fn a_kept_run_goes_only_where_a_job_may_go() {
    use RunStatus::{Cancelled, Cancelling, Created, Failed, Ready, RetryWait, Running, Succeeded};
    each_kept(|change| {
        change.each_entry(|before, entry, after| {
            let allowed: &[RunStatus] = match before.status {
                Created => &[Ready, Cancelling],
                Ready => &[Running, Cancelling, Succeeded, Failed],
                Running => &[Succeeded, RetryWait, Failed, Cancelling],
                RetryWait => &[Ready, Running, Succeeded, Failed, Cancelling],
                Cancelling => &[Cancelled],
                Succeeded | Failed | Cancelled => &[],
            };
            let stays = before.status == after.status;
            assert!(stays || allowed.contains(&after.status), "{entry:?}: {:?}", before.status);
        });
    });
}

// C-014, C-018, X-117: it runs when a worker has taken it, and has a beginning from the first time on.
#[test]
fn a_kept_run_is_under_way_from_the_moment_a_worker_has_taken_it() {
    each_kept(|change| {
        change.each_entry(|before, entry, after| {
            let taken = matches!(entry, Entry::StepAcked { .. });
            if before.status == RunStatus::Ready && after.status == RunStatus::Running {
                assert!(taken, "{entry:?}");
            }
            if before.started_at != after.started_at {
                assert_eq!(before.started_at, None, "it begins once");
                // A gate that opens, and a person who retries, may wake a run from its rest.
                assert!(taken || before.status == RunStatus::RetryWait, "{entry:?}");
            }
        });
    });
}

// C-029, C-030, X-121: where one worker keeps an attempt, what fails is the attempt of the run.
#[test]
fn no_step_of_a_kept_run_is_tried_twice_in_one_attempt_of_the_run_unless_nobody_had_it() {
    each_kept(|change| {
        change.each_entry(|_, entry, _| {
            if let Entry::AttemptFailed { counted, .. } = entry {
                assert!(!counted, "it never reached a worker");
            }
        });
    });
}

// X-119, C-021: a lost message of the attempt in force, or a failure for good, leaves nothing under way.
#[test]
fn a_kept_run_whose_step_failed_for_good_is_over_at_once() {
    each_kept(|change| {
        let Ok(decision) = &change.answer else { return };
        let run = &decision.run;
        let counts = |entry: &Entry| match entry {
            Entry::StepFailed { step, .. } | Entry::StepTimedOut { step, .. } => {
                !run.spec(*step).continue_on_failure && !run.is_item(*step)
            }
            _ => false,
        };
        if decision.entries.iter().any(counts) {
            assert!(run.status.is_terminal(), "{run:#?}");
        }
    });
}

// a sign of life extends the lease in force and nothing else; the end of the run, or of the
// attempt, is told to whoever still has it.
#[test]
fn a_sign_of_life_counts_exactly_while_its_lease_is_in_force() {
    each_kept(|change| {
        let Command::Extend { step: StepRef::Index(step), fence } = &change.command else { return };
        let lease = change.before.steps[step.position()].lease;
        let in_force = lease.is_some_and(|it| (it.attempt, it.id) == (fence.attempt, fence.lease));
        assert_eq!(change.answer.is_ok(), in_force);
        let Ok(decision) = &change.answer else { return };
        let after = &decision.run.steps[step.position()];
        assert_eq!(after.lease.map(|it| it.id), lease.map(|it| it.id));
        if change.before.is_kept(*step) {
            let until = after.lease.map(|it| it.expires_at);
            assert!(until >= lease.map(|it| it.expires_at), "it never holds for less");
        }
    });
}

// signs of life keep a step, but not beyond the time that somebody has set for it; the message that
// nobody took yet uses up none of it.
#[test]
fn no_worker_keeps_a_step_longer_than_it_may_take() {
    each_kept(|change| {
        change.each_entry(|before, entry, after| {
            let Some(step) = entry.step().filter(|_| matches!(entry, Entry::StepAcked { .. }))
            else {
                return;
            };
            let deadline = after.steps[step.position()].lease.and_then(|lease| lease.deadline);
            let limit = before.spec(step).kept_max();
            assert_eq!(deadline, limit.map(|limit| after.updated_at.after(limit)));
        });
        let Ok(decision) = &change.answer else { return };
        for (step, state) in decision.run.indexed().filter(|(it, _)| decision.run.is_kept(*it)) {
            let lease = state.lease.expect("a worker has it");
            assert!(lease.deadline.is_none_or(|deadline| lease.expires_at <= deadline));
            let was = change.before.steps.get(step.position()).and_then(|step| step.lease);
            if let Some(was) = was.filter(|was| was.id == lease.id && was.deadline.is_some()) {
                assert_eq!(was.deadline, lease.deadline, "nothing moves it");
            }
        }
    });
}

// whoever used up the time of a step is told so, and whoever fell silent before is told that.
#[test]
fn an_attempt_that_took_too_long_is_told_from_one_whose_worker_fell_silent() {
    each_kept(|change| {
        change.each_entry(|before, entry, after| {
            let (Entry::StepHeld { step, error, .. } | Entry::StepTimedOut { step, error }) = entry
            else {
                return;
            };
            let Some(lease) = before.steps[step.position()].lease else { return };
            let in_time = lease.deadline.is_none_or(|deadline| lease.expires_at < deadline);
            let due = lease.expires_at <= after.updated_at;
            match error.code.as_str() {
                "attempt_timed_out" => assert!(due && !in_time),
                "lease_expired" => assert!(due && in_time),
                _ => {}
            }
        });
    });
}

// C-035, X-154: no attempt of the whole run begins by itself before the rest that a worker has asked for is over.
#[test]
fn a_run_rests_at_least_as_long_as_its_workers_have_asked() {
    lives::each(|life| {
        life.live(|change| {
            change.each_entry(|before, entry, after| {
                let Entry::RunRetryScheduled { retry_at, .. } = entry else { return };
                let asked = before.steps.iter().filter_map(|step| step.not_before).max();
                assert!(asked.is_none_or(|asked| asked <= *retry_at));
                assert_eq!(after.retry_at, Some(*retry_at));
            });
            let (Command::Report { outcome, .. }, Ok(decision)) = (&change.command, &change.answer)
            else {
                return;
            };
            let Outcome::Failed { retry_after: Some(rest), .. } = outcome else { return };
            let until = decision.run.updated_at.after(*rest);
            for entry in &decision.entries {
                if let Entry::StepHeld { not_before, .. } = entry {
                    assert_eq!(*not_before, Some(until));
                }
            }
        });
    });
}

// C-009, X-117: the attempts that a run shows are those that a worker has taken, wherever it stands.
#[test]
fn the_attempts_of_a_kept_run_are_those_that_a_worker_has_begun() {
    lives::each(|life| {
        let begun = RefCell::new(0);
        life.live(|change| {
            change.each_entry(|before, entry, after| {
                let taken = matches!(entry, Entry::StepAcked { .. });
                if taken && before.status == RunStatus::Ready && after.keeping().is_some() {
                    *begun.borrow_mut() += 1;
                }
                if after.keeping().is_some() {
                    assert_eq!(after.attempts_begun(), *begun.borrow(), "{entry:?}");
                }
            });
        });
    });
}

// a worker goes on with one step at most, of its own pool, and is told of it whenever it asks.
#[test]
fn whoever_goes_on_is_told_with_what() {
    each_kept(|change| {
        let (Command::Report { step: StepRef::Index(step), fence, .. }, Ok(decision)) =
            (&change.command, &change.answer)
        else {
            return;
        };
        let kept = |run: &Run| run.indexed().filter(|(it, _)| run.is_kept(*it)).count();
        let next = decision.run.continuation(fence.lease);
        let own = usize::from(change.before.is_kept(*step));
        if !decision.run.status.is_terminal() {
            let others = kept(&change.before) - own;
            assert_eq!(kept(&decision.run), others + usize::from(next.is_some()));
        }
        if let Some(next) = next {
            let pool = |step| &decision.run.spec(step).pool;
            assert_eq!(pool(next.step), pool(*step));
            assert_eq!(decision.run.steps[next.step.position()].status, StepStatus::Acked);
        }
    });
}

// X-127, C-011: after every decision the sum of all movements is what the run has set aside and spent, and
// what it took from the account is what it still has.
#[test]
fn the_sum_of_all_movements_is_what_the_run_has_set_aside_and_spent() {
    lives::each(|life| {
        let sums = RefCell::new((CreditState::default(), Credits::ZERO));
        life.live(|change| {
            let Ok(decision) = &change.answer else { return };
            let (mut state, mut balance) = *sums.borrow();
            for entry in &decision.entries {
                if let Entry::CreditsMoved { movement } = entry {
                    state = state.after(movement);
                    balance = balance + movement.balance;
                }
            }
            *sums.borrow_mut() = (state, balance);
            let run = &decision.run;
            assert_eq!(run.credits.unwrap_or_default(), state);
            assert_eq!(balance + state.reserved + state.spent, Credits::ZERO);
            if !run.credit_terms().is_some_and(|terms| terms.charged) {
                assert_eq!(state.reserved, Credits::ZERO, "what is only counted is not set aside");
            }
        });
    });
}
