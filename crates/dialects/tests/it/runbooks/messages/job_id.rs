//! What jobs are called.

use std::collections::BTreeSet;

use proptest::prelude::*;
use stepwell_core::id::{MemberId, RunNumber, StepIndex};
use stepwell_dialects::runbooks::job_id::{Job, fence_of};
use stepwell_dialects::runbooks::{JobId, StepExecutionId};

use super::execution;

#[track_caller]
fn check(job: Job, (attempt, poll): (u32, u32), text: &str) {
    let id = job.directive(attempt, poll);
    assert_eq!(id.to_string(), text);
    assert_eq!(text.parse(), Ok(id));
    assert_eq!(fence_of(&id), (attempt, poll));
}

#[test]
fn a_job_is_called_as_the_contract_says() {
    // A-079, X-031: attempt-1 first, then retries are counted; a poll is added to its attempt.
    let (step, init) = (Job::Step(execution()), Job::Init(execution()));
    check(step, (1, 0), "step-123-attempt-1");
    check(step, (2, 0), "step-123-retry-1");
    check(step, (3, 0), "step-123-retry-2");
    check(step, (1, 1), "step-123-attempt-1-poll-1");
    check(step, (3, 7), "step-123-retry-2-poll-7");
    check(init, (1, 0), "init-123-attempt-1");
    check(init, (2, 0), "init-123-retry-1");
    check(init, (1, 4), "init-123-attempt-1-poll-4");
}

#[test]
fn the_jobs_of_rollbacks_and_removals_name_what_they_are_for() {
    // X-031, A-081: rollback-{stepId}-{n} and removal-{memberId}-{n}, unique for each try of each.
    let rollback = Job::Rollback { step: execution(), number: 1 };
    let removal = Job::Removal { member: MemberId(505), number: 2 };
    check(rollback, (1, 0), "rollback-123-1");
    check(rollback, (2, 0), "rollback-123-1-retry-1");
    check(rollback, (1, 3), "rollback-123-1-poll-3");
    check(removal, (1, 0), "removal-505-2");
    check(removal, (4, 2), "removal-505-2-retry-3-poll-2");
}

#[test]
fn every_directive_has_an_id_of_its_own() {
    // A-081: duplicate detection must never swallow another attempt, poll or step.
    let other = StepExecutionId::of(RunNumber(7), StepIndex(1));
    let jobs = [execution(), other].into_iter().flat_map(|step| {
        let rollbacks = (1..=12).map(move |number| Job::Rollback { step, number });
        let removals =
            (1..=12).map(move |number| Job::Removal { member: MemberId(step.get()), number });
        [Job::Step(step), Job::Init(step)].into_iter().chain(rollbacks).chain(removals)
    });
    let ids: Vec<String> = jobs
        .flat_map(|job| {
            (1..=12).flat_map(move |attempt| (0..=12).map(move |poll| (job, attempt, poll)))
        })
        .map(|(job, attempt, poll)| job.directive(attempt, poll).to_string())
        .collect();
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
}

#[test]
fn what_is_not_written_as_we_write_it_is_no_id() {
    let texts = [
        "",
        "step",
        "step-123",
        "step--attempt-1",
        "step-abc-attempt-1",
        "step-123-attempt-2",
        "step-123-attempt-0",
        "step-123-attempt-01",
        "step-123-attempt-1 ",
        "step-0123-attempt-1",
        "step-+123-attempt-1",
        "step--123-attempt-1",
        "Step-123-attempt-1",
        "step-123-retry-0",
        "step-123-retry-4294967295",
        "step-123-attempt-1-retry-1",
        "step-123-attempt-1-poll-0",
        "step-123-attempt-1-poll-1-poll-2",
        "step-123-attempt-1-poll",
        "step-123-poll-1",
        "step-9007199254740992-attempt-1",
        "step-99999999999999999999999-attempt-1",
        "rollback-123",
        "rollback-123-0",
        "rollback-123-1-attempt-1",
        "removal-505-01",
        "removal--505-1",
        "phase-1-attempt-1",
    ];
    for text in texts {
        assert!(text.parse::<JobId>().is_err(), "{text}");
    }
    let error = "step-1".parse::<JobId>().unwrap_err().to_string();
    assert_eq!(error, r#""step-1" is not a JobId; send back the one of the job unchanged"#);
    let error = "x".repeat(1_000_000).parse::<JobId>().unwrap_err().to_string();
    assert!(error.len() < 200, "{error}");
}

#[test]
fn an_execution_is_the_run_and_the_position_in_one_number() {
    // A-084: what a worker sends back leads to the step, and to no other.
    let id = StepExecutionId::of(RunNumber(1_000_001), StepIndex(65_535));
    assert_eq!(id.get(), 1_000_001 * 65_536 + 65_535);
    assert_eq!(id.parts(), (RunNumber(1_000_001), StepIndex(65_535)));
    // Workers that keep numbers as floating-point ones must be able to send back every id.
    assert_eq!(StepExecutionId::MAX.get(), (1 << 53) - 1);
    let largest = StepExecutionId::of(StepExecutionId::NUMBER_MAX, StepIndex(u16::MAX));
    assert_eq!(largest, StepExecutionId::MAX);
    for number in [-1, 1 << 53, i64::MAX, i64::MIN] {
        assert!(StepExecutionId::try_from(number).is_err(), "{number}");
    }
}

fn any_execution() -> impl Strategy<Value = StepExecutionId> {
    let number = prop_oneof![0..1_000_i64, 0..=StepExecutionId::NUMBER_MAX.0];
    (number, any::<u16>())
        .prop_map(|(number, step)| StepExecutionId::of(RunNumber(number), StepIndex(step)))
}

fn any_job_id() -> impl Strategy<Value = JobId> {
    let job = prop_oneof![
        any_execution().prop_map(Job::Step),
        any_execution().prop_map(Job::Init),
        (any_execution(), 1..=u32::MAX).prop_map(|(step, number)| Job::Rollback { step, number }),
        (0..=i64::MAX, 1..=u32::MAX)
            .prop_map(|(member, number)| Job::Removal { member: MemberId(member), number }),
    ];
    (job, 1..=u32::MAX, prop_oneof![Just(0), any::<u32>()])
        .prop_map(|(job, attempt, poll)| job.directive(attempt, poll))
}

proptest! {
    // A-081, X-031: whatever we call a job, we know it again.
    #[test]
    fn an_id_is_read_as_it_was_written(id in any_job_id()) {
        prop_assert_eq!(id.to_string().parse(), Ok(id));
    }

    #[test]
    fn equal_ids_have_equal_texts(text in "(step|init|rollback|removal)(-(attempt|retry|poll|\\+?0?[0-9]{1,3})){1,7}") {
        if let Ok(id) = text.parse::<JobId>() {
            prop_assert_eq!(id.to_string(), text);
        }
    }

    #[test]
    fn an_execution_is_its_parts(id in any_execution()) {
        let (number, step) = id.parts();
        prop_assert_eq!(StepExecutionId::of(number, step), id);
        prop_assert_eq!(StepExecutionId::try_from(id.get()), Ok(id));
    }
}
