//! Whatever a run looks like, its rows give it back.

use std::collections::BTreeMap;

use proptest::collection::{btree_map, btree_set, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use stepwell_core::credit::{CreditTerms, Credits, Restore};
use stepwell_core::definition::{FailureMode, StepSpec, TimeoutMode, Workflow};
use stepwell_core::duration::Interval;
use stepwell_core::expansion::Expansion;
use stepwell_core::id::{BatchId, LeaseId, MemberId, RunNumber};
use stepwell_core::lane::{Lane, RoutingKey};
use stepwell_core::retry::{Delay, RetryPolicy};
use stepwell_core::run::{BatchRole, Header};
use stepwell_core::step::PollTurn;
use stepwell_core::steps::Steps;
use stepwell_core::terms::{Keeping, Terms};
use uuid::Uuid;

use super::*;

const STEPS: usize = 3;

fn moment() -> impl Strategy<Value = Timestamp> {
    (0..7_258_118_399_999_i64).prop_map(Timestamp::from_millis)
}

fn run_id() -> impl Strategy<Value = RunId> {
    any::<u128>().prop_map(|bits| RunId(Uuid::from_u128(bits)))
}

/// Free-form data: any number of any size, any text, nested.
fn json() -> impl Strategy<Value = Value> {
    let number = prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL | prop::num::f64::ZERO;
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        number.prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::from),
            btree_map(any::<String>(), inner, 0..3)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn map() -> impl Strategy<Value = Map<String, Value>> {
    btree_map(any::<String>(), json(), 0..3).prop_map(|map| map.into_iter().collect())
}

fn error() -> impl Strategy<Value = StepError> {
    (any::<String>(), any::<String>()).prop_map(|(code, message)| StepError { code, message })
}

fn lease() -> impl Strategy<Value = Lease> {
    let stage = select(vec![LeaseStage::Recorded, LeaseStage::Published, LeaseStage::Acked]);
    (any::<u128>(), moment(), option::of(moment()), stage).prop_map(
        |(id, expires_at, deadline, stage)| Lease {
            id: LeaseId(Uuid::from_u128(id)),
            attempt: 0,
            expires_at,
            deadline,
            stage,
        },
    )
}

fn poll() -> impl Strategy<Value = PollState> {
    let turn = select(vec![PollTurn::Resting, PollTurn::Asked, PollTurn::Held]);
    (moment(), any::<u32>(), turn).prop_map(|(started_at, count, turn)| PollState {
        started_at,
        count,
        turn,
    })
}

fn step() -> impl Strategy<Value = Step> {
    let counts = (select(StepStatus::ALL.to_vec()), any::<u32>(), any::<u32>());
    let work = (option::of(json()), option::of(any::<String>()), option::of(json()));
    let state = (option::of(lease()), option::of(poll()), option::of(error()));
    let skip = option::of(select(vec![
        SkipReason::Dependency,
        SkipReason::Operator,
        SkipReason::Condition,
    ]));
    let rest = (skip, option::of(run_id()));
    let any_moment = || option::of(moment());
    let moments = (any_moment(), any_moment(), any_moment(), any_moment());
    (counts, work, state, rest, moments).prop_map(|(counts, work, state, rest, moments)| Step {
        status: counts.0,
        attempt: counts.1,
        tries: counts.2,
        // A lease always belongs to the newest attempt.
        lease: state.0.map(|lease| Lease { attempt: counts.1, ..lease }),
        params: work.0.map(Arc::new),
        kind: work.1.map(|kind| Arc::from(kind.as_str())),
        poll: state.1,
        wake_at: moments.0,
        result: work.2.map(Arc::new),
        error: state.2.map(Arc::new),
        skip: rest.0,
        compensation: rest.1,
        dispatched_at: moments.1,
        ended_at: moments.2,
        not_before: moments.3,
    })
}

fn membership() -> impl Strategy<Value = Membership> {
    let role = select(vec![BatchRole::Init, BatchRole::Member, BatchRole::Removal]);
    (any::<i64>(), option::of(any::<i64>()), role, any::<i64>()).prop_map(
        |(batch, member, role, number)| Membership {
            batch: BatchId(batch),
            member: member.map(MemberId),
            role,
            number: RunNumber(number),
        },
    )
}

fn credits() -> impl Strategy<Value = CreditState> {
    (any::<i64>(), any::<i64>()).prop_map(|(reserved, spent)| CreditState {
        reserved: Credits(reserved),
        spent: Credits(spent),
    })
}

fn terms() -> impl Strategy<Value = Terms> {
    let interval = || (0..1_000_000_u64).prop_map(Interval::from_secs);
    let delay = prop_oneof![
        interval().prop_map(Delay::Fixed),
        vec(interval(), 0..5).prop_map(Delay::List),
        (interval(), any::<u32>(), interval())
            .prop_map(|(first, factor, cap)| Delay::Exponential { first, factor, cap }),
    ];
    let retry =
        (any::<u32>(), delay, any::<u8>()).prop_map(|(attempts_max, delay, jitter_percent)| {
            RetryPolicy { attempts_max, delay, jitter_percent }
        });
    let keeping =
        (interval(), interval()).prop_map(|(lease, unclaimed)| Keeping { lease, unclaimed });
    let restore = select(vec![Restore::Never, Restore::Failed, Restore::Unfinished]);
    let credits =
        (any::<i64>(), restore, any::<bool>()).prop_map(|(estimate, restore, charged)| {
            CreditTerms { estimate: Credits(estimate), restore, charged }
        });
    (option::of(retry), option::of(keeping), option::of(credits))
        .prop_map(|(run_retry, keeping, credits)| Terms { run_retry, keeping, credits })
}

fn header() -> impl Strategy<Value = Header> {
    let dialects = [Dialect::Runbooks, Dialect::Platform, Dialect::Workspaces, Dialect::Commands];
    let names = (run_id(), any::<String>(), select(dialects.to_vec()), any::<String>());
    let kin = (option::of((run_id(), any::<u16>())), option::of(run_id()), any::<bool>());
    let data = (map(), map(), map());
    let route = (option::of(any::<String>()), 0..=10_u8);
    let people = (option::of(any::<String>()), option::of(any::<String>()), any::<String>());
    let granted = (option::of(membership()), option::of(terms()));
    (names, kin, data, route, people, moment(), granted).prop_map(
        |(names, kin, data, route, people, created_at, granted)| Header {
            id: names.0,
            tenant: Tenant::new(&names.1),
            dialect: names.2,
            workflow: Arc::new(workflow(names.3)),
            part: if kin.2 { Part::Compensation("undo".to_owned()) } else { Part::Main },
            parent: kin.0.map(|(run, step)| Parent { run, step: StepIndex(step) }),
            resumes: kin.1,
            input: data.0,
            special: data.1,
            context: data.2,
            routing: route
                .0
                .map(|key| Routing { lane: Lane::of(&RoutingKey::of_tenant(&key)), key }),
            priority: route.1,
            correlation_id: people.0,
            traceparent: people.1,
            actor: people.2,
            created_at,
            membership: granted.0,
            terms: granted.1.map(Arc::new),
        },
    )
}

fn workflow(name: String) -> Workflow {
    let steps: Vec<StepSpec> =
        (0..STEPS).map(|position| spec(&format!("step-{position}"))).collect();
    Workflow {
        name,
        version: 3,
        description: String::new(),
        request_type: None,
        input_schema: None,
        compensations: BTreeMap::from([("undo".to_owned(), steps.clone())]),
        steps,
        run_retry: None,
        credits: None,
        cancel: CancelMode::Drain,
        failure: FailureMode::SkipDescendants,
    }
}

fn spec(id: &str) -> StepSpec {
    StepSpec {
        id: id.to_owned(),
        kind: "work".to_owned(),
        pool: "default".to_owned(),
        params: None,
        payload_schema: None,
        outputs: BTreeMap::new(),
        after: Vec::new(),
        gate: None,
        when: None,
        for_each: None,
        timeout: Interval::from_secs(1),
        timeout_given: true,
        on_timeout: TimeoutMode::Fail,
        retry: RetryPolicy::once(),
        poll: None,
        on_failure: None,
        continue_on_failure: false,
    }
}

fn run() -> impl Strategy<Value = Run> {
    let cancel = option::of(select(vec![CancelMode::Immediate, CancelMode::Drain]));
    let counts = (0..=i64::MAX as u64, select(RunStatus::ALL.to_vec()), any::<u32>());
    let flags = (any::<bool>(), cancel, btree_set(any::<String>(), 0..3));
    let steps = vec(prop_oneof![Just(Step::new()), step()], STEPS);
    let moments = (option::of(moment()), moment(), option::of(moment()), option::of(moment()));
    let rest = (option::of(error()), option::of(credits()));
    (header(), counts, flags, with_items(steps), map(), rest, moments).prop_map(
        |(header, counts, flags, (steps, expansions), outputs, (error, credits), moments)| Run {
            header: Arc::new(header),
            version: counts.0,
            status: counts.1,
            attempt: counts.2,
            paused: flags.0,
            cancel: flags.1,
            gates_open: flags.2,
            steps,
            expansions,
            outputs: Arc::new(outputs),
            retry_at: moments.0,
            credits,
            error: error.map(Arc::new),
            updated_at: moments.1,
            started_at: moments.2,
            ended_at: moments.3,
        },
    )
}

/// Some of the steps are expanded, in any order; one may have an empty list.
fn with_items(
    steps: impl Strategy<Value = Vec<Step>>,
) -> impl Strategy<Value = (Steps, Vec<Expansion>)> {
    let begun = step().prop_map(|step| match step.status {
        StepStatus::Expanded => Step::new(),
        _ => step,
    });
    let item = prop_oneof![1 => Just(Step::new()), 2 => begun];
    let lists = btree_map(0..STEPS, vec(item, 0..14), 0..=STEPS).prop_map(Vec::from_iter);
    (steps, lists.prop_shuffle()).prop_map(|(mut steps, lists)| {
        let mut places = Vec::new();
        for (parent, items) in lists {
            steps[parent].status = StepStatus::Expanded;
            places.push((parent, steps.len(), items.len()));
            steps.extend(items);
        }
        let steps = Steps::from(steps);
        let place = |count: usize| u16::try_from(count).expect("there are few");
        let expansions = places.into_iter().map(|(parent, first, count)| {
            Expansion::counted(StepIndex::at(parent), place(first), place(count), &steps)
        });
        let expansions = expansions.collect();
        (steps, expansions)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    // the rows are the whole state, so a decision made from them is the same decision.
    #[test]
    fn a_run_comes_back_from_its_rows_as_it_was(run in run()) {
        let rows = (HeaderRow::encode(&run), StateRow::encode(&run), StepRow::encode_all(&run));
        let decoded = decode(rows.0, rows.1, rows.2).unwrap();
        prop_assert_eq!(decoded, StoredRun::of(&run));
    }
}

#[test]
fn a_row_that_we_did_not_write_is_told() {
    let mut run = run().new_tree(&mut TestRunner::deterministic()).unwrap().current();
    run.steps = Steps::waiting(STEPS);
    run.expansions.clear();
    let told = |step: StepRow| {
        let decoded = decode(HeaderRow::encode(&run), StateRow::encode(&run), vec![step]);
        decoded.unwrap_err().to_string()
    };
    let step = || StepRow::encode(&run, StepIndex(0));
    let astray = told(StepRow { position: 9, ..step() });
    assert!(astray.contains("has no step at position 9"), "{astray}");
    let garbled = told(StepRow { result: Some("{".to_owned()), ..step() });
    assert!(garbled.contains("step.result is not what we wrote"), "{garbled}");
}
