//! Random lives: a workflow of any shape, and whatever may happen to a run of it.
//!
//! A life is data, so that a failing one is shown whole and made as small as it can be. Its seed is
//! fixed: every run of the tests lives the same lives.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{Config, RngSeed, TestError, TestRunner};
use serde_json::json;
use stepwell_core::condition::Condition;
use stepwell_core::credit::{CreditTerms, Credits, Restore};
use stepwell_core::definition::{
    CancelMode, FailureMode, ForEach, Poll, StepSpec, TimeoutMode, Workflow,
};
use stepwell_core::id::StepIndex;
use stepwell_core::retry::RetryPolicy;
use stepwell_core::run::Header;
use stepwell_core::terms::{Keeping, Terms};

use crate::world;

const LIVES: usize = 3_000;
const SEED: u64 = 0x57E9_3E11;
const STEPS_MAX: usize = 5;
const MOVES_MAX: usize = 40;

/// One random life.
#[derive(Clone, Debug)]
pub(crate) struct Life {
    pub(crate) shape: Shape,
    pub(crate) moves: Vec<Move>,
}

/// A workflow, before it is spelled out.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    sequence: bool,
    cancel_rest: bool,
    run_attempts: Option<u32>,
    /// one worker does all steps of an attempt
    keeping: bool,
    credits: Option<CreditShape>,
    steps: Vec<StepShape>,
}

/// What a run may cost.
#[derive(Clone, Copy, Debug)]
struct CreditShape {
    estimate: u8,
    restore: u8,
    charged: bool,
}

#[derive(Clone, Debug)]
struct StepShape {
    /// bit n: after step n, if that is an earlier one
    after: u8,
    /// in another pool than most
    elsewhere: bool,
    gate: Option<u8>,
    attempts: u32,
    rests: bool,
    polls: bool,
    timeout_given: bool,
    timeout_is_final: bool,
    lenient: bool,
    undone: bool,
    asks_for: AsksFor,
    condition: Option<&'static str>,
    items: Option<ItemsShape>,
}

/// A step that is done once for each item of a list.
#[derive(Clone, Debug)]
struct ItemsShape {
    list: ListShape,
    parallel: Option<u16>,
}

/// Where the list comes from.
#[derive(Clone, Copy, Debug)]
enum ListShape {
    Written(u8),
    /// a list if another step with items has set it, a number if a plain step has
    Output,
    NotAList,
    TooLong,
}

/// What the params of a step refer to.
#[derive(Clone, Copy, Debug)]
enum AsksFor {
    Nothing,
    Input,
    Output,
    NothingThereIs,
}

/// Something that may happen.
#[derive(Clone, Debug)]
pub(crate) enum Move {
    Start {
        carried: Option<u8>,
        /// only some items of it, if it has any
        in_part: bool,
    },
    OpenGate(u8),
    Ack {
        step: u8,
        fence: FenceChoice,
    },
    Report {
        step: u8,
        fence: FenceChoice,
        answer: Answer,
        /// whole credits
        spent: u8,
    },
    Extend {
        step: u8,
        fence: FenceChoice,
    },
    Published {
        step: u8,
        fence: FenceChoice,
    },
    PublishFailed {
        step: u8,
        fence: FenceChoice,
    },
    Undelivered {
        step: u8,
        fence: FenceChoice,
    },
    /// time passes, by so many seconds; a wake comes, due or not
    Wake {
        after_secs: u8,
    },
    /// time passes until the run's next moment; a wake comes
    WakeWhenDue,
    /// the clock is set back by so many seconds; a wake comes
    WakeInThePast {
        secs: u8,
    },
    Cancel(Option<CancelMode>),
    Pause,
    Resume,
    Retry {
        step: u8,
    },
    Skip {
        step: u8,
    },
    MarkSucceeded {
        step: u8,
    },
}

/// Which attempt a message speaks of.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FenceChoice {
    /// the one under way
    Current,
    /// one that was under way at some time
    Seen(u8),
    WrongAttempt,
    WrongLease,
}

/// What a worker says.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Answer {
    Done,
    DoneWithoutOutput,
    NotFinished,
    Broken,
    BrokenForGood,
    BrokenAndBusy,
}

/// Lives all lives. The first one that fails is made as small as it can be, and shown.
pub(crate) fn each(live: impl Fn(&Life)) {
    for (number, life) in all().iter().enumerate() {
        if catch_unwind(AssertUnwindSafe(|| live(life))).is_err() {
            show_smallest(number, &live);
        }
    }
}

/// All lives, made once for all tests: making them takes longer than living them.
fn all() -> &'static [Life] {
    static ALL: OnceLock<Vec<Life>> = OnceLock::new();
    ALL.get_or_init(|| {
        let (mut runner, strategy) = (runner(), life());
        (0..LIVES).map(|_| tree(&strategy, &mut runner).current()).collect()
    })
}

/// Makes the same life again, and takes from it what it can do without and still fail.
fn show_smallest(number: usize, live: &impl Fn(&Life)) {
    let (mut runner, strategy) = (runner(), life());
    for _ in 0..number {
        tree(&strategy, &mut runner);
    }
    let failing = tree(&strategy, &mut runner);
    let lived = runner.run_one(failing, |life| {
        live(&life);
        Ok(())
    });
    match lived {
        Err(TestError::Fail(reason, life)) => panic!("{reason}\nin this life: {life:#?}"),
        Err(TestError::Abort(reason)) => panic!("life {number} failed, and then: {reason}"),
        Ok(_) => panic!("life {number} failed, but not when it was lived again"),
    }
}

fn runner() -> TestRunner {
    TestRunner::new(Config {
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(SEED),
        ..Config::default()
    })
}

fn tree<S: Strategy>(strategy: &S, runner: &mut TestRunner) -> S::Tree {
    strategy.new_tree(runner).expect("no part of a life is ever rejected")
}

impl Shape {
    /// The run, before anything has happened to it.
    pub(crate) fn header(&self) -> Header {
        let keeping = Keeping { lease: world::seconds(30), unclaimed: world::seconds(50) };
        let policy = self.run_attempts.map(|count| RetryPolicy::fixed(count, world::seconds(20)));
        let terms = Terms {
            run_retry: policy.filter(|_| self.keeping),
            keeping: self.keeping.then_some(keeping),
            credits: self.credits.map(CreditShape::terms),
        };
        let terms = (terms != Terms::default()).then(|| Arc::new(terms));
        Header { terms, ..world::header(self.workflow()) }
    }

    /// The workflow, spelled out.
    pub(crate) fn workflow(&self) -> Workflow {
        let steps = self.steps.iter().enumerate();
        let specs = steps.map(|(position, step)| step.spec(position, self.sequence)).collect();
        let undo = world::chained(vec![world::step("revert"), world::step("notify")]);
        Workflow {
            compensations: [("undo".to_owned(), undo)].into(),
            run_retry: match self.keeping {
                true => None,
                false => self.run_attempts.map(|it| RetryPolicy::fixed(it, world::seconds(20))),
            },
            failure: match self.cancel_rest {
                true => FailureMode::CancelRest,
                false => FailureMode::SkipDescendants,
            },
            ..world::graph(specs)
        }
    }
}

impl CreditShape {
    fn terms(self) -> CreditTerms {
        let restore = [Restore::Never, Restore::Failed, Restore::Unfinished];
        CreditTerms {
            estimate: Credits::whole(self.estimate.into()),
            restore: restore[usize::from(self.restore) % restore.len()],
            charged: self.charged,
        }
    }
}

impl StepShape {
    fn spec(&self, position: usize, sequence: bool) -> StepSpec {
        let after = match sequence {
            true => position.checked_sub(1).map(StepIndex::at).into_iter().collect(),
            false => (0..position)
                .filter(|before| self.after & (1 << before) != 0)
                .map(StepIndex::at)
                .collect(),
        };
        let poll = Poll { interval: world::seconds(10), timeout: world::seconds(45) };
        let rest = world::seconds(if self.rests { 10 } else { 0 });
        StepSpec {
            params: match self.asks_for {
                AsksFor::Nothing => None,
                AsksFor::Input => Some(json!({ "who": "{{name}}" })),
                AsksFor::Output => Some(json!("{{ticket}}")),
                AsksFor::NothingThereIs => Some(json!("{{nowhere}}")),
            },
            outputs: [("ticket".to_owned(), "id".to_owned())].into(),
            after,
            pool: if self.elsewhere { "elsewhere" } else { "default" }.to_owned(),
            gate: self.gate.map(gate),
            timeout: world::seconds(if self.timeout_given { 45 } else { 60 }),
            timeout_given: self.timeout_given,
            on_timeout: match self.timeout_is_final {
                true => TimeoutMode::Fail,
                false => TimeoutMode::Republish,
            },
            retry: RetryPolicy::fixed(self.attempts, rest),
            poll: self.polls.then_some(poll),
            on_failure: self.undone.then(|| "undo".to_owned()),
            continue_on_failure: self.lenient,
            when: self.condition.map(|text| Condition::read(text).expect("it is sound")),
            for_each: self.items.as_ref().map(ItemsShape::for_each),
            ..world::step(&format!("s{position}"))
        }
    }
}

impl ItemsShape {
    fn for_each(&self) -> ForEach {
        let list = match self.list {
            ListShape::Written(count) => (0..count).map(|number| json!({ "n": number })).collect(),
            ListShape::Output => json!("{{ticket}}"),
            ListShape::NotAList => json!("{{name}}"),
            ListShape::TooLong => json!([1, 2, 3, 4, 5]),
        };
        ForEach { list, items_max: 4, parallel_max: self.parallel }
    }
}

/// The name of a gate.
pub(crate) fn gate(number: u8) -> String {
    format!("gate-{number}")
}

fn life() -> impl Strategy<Value = Life> {
    (shape(), any::<bool>(), vec(any_move(), 1..MOVES_MAX)).prop_map(
        |(shape, starts, mut moves)| {
            // Most runs are started first; what may happen before that is tried by the others.
            if starts {
                moves.insert(0, Move::Start { carried: None, in_part: false });
            }
            Life { shape, moves }
        },
    )
}

fn shape() -> impl Strategy<Value = Shape> {
    let run_attempts = prop_oneof![1 => Just(None), 1 => (1..=3u32).prop_map(Some)];
    let flags = (any::<bool>(), any::<bool>(), any::<bool>());
    (flags, run_attempts, credits(), vec(step_shape(), 1..=STEPS_MAX)).prop_map(
        |((sequence, cancel_rest, keeping), run_attempts, credits, steps)| Shape {
            sequence,
            cancel_rest,
            run_attempts,
            keeping,
            credits,
            steps,
        },
    )
}

fn credits() -> impl Strategy<Value = Option<CreditShape>> {
    let shape = (0..6u8, any::<u8>(), any::<bool>())
        .prop_map(|(estimate, restore, charged)| CreditShape { estimate, restore, charged });
    prop_oneof![1 => Just(None), 1 => shape.prop_map(Some)]
}

fn step_shape() -> impl Strategy<Value = StepShape> {
    let gate = prop_oneof![3 => Just(None), 1 => (0..2u8).prop_map(Some)];
    let asks_for = prop_oneof![
        5 => Just(AsksFor::Nothing),
        2 => Just(AsksFor::Input),
        2 => Just(AsksFor::Output),
        1 => Just(AsksFor::NothingThereIs),
    ];
    let flags = (any::<bool>(), any::<bool>(), rarely(), any::<bool>(), rarely());
    let timeout = (any::<bool>(), any::<bool>());
    (any::<u8>(), gate, 1..=3u32, asks_for, (flags, timeout), condition(), items()).prop_map(
        |(after, gate, attempts, asks_for, (flags, timeout), condition, items)| {
            let (rests, polls, lenient, undone, elsewhere) = flags;
            let (timeout_given, timeout_is_final) = timeout;
            StepShape {
                after,
                elsewhere,
                gate,
                attempts,
                rests,
                polls,
                timeout_given,
                timeout_is_final,
                lenient,
                undone,
                asks_for,
                condition,
                items,
            }
        },
    )
}

fn condition() -> impl Strategy<Value = Option<&'static str>> {
    prop_oneof![
        10 => Just(None),
        2 => Just(Some("{{count}} == 3")),
        2 => Just(Some("{{count}} > 3 or {{ticket}} == 2")),
        1 => Just(Some("{{ticket}} == null")),
        1 => Just(Some("{{name}} < {{count}}")),
    ]
}

fn items() -> impl Strategy<Value = Option<ItemsShape>> {
    let list = prop_oneof![
        8 => (0..4u8).prop_map(ListShape::Written),
        2 => Just(ListShape::Output),
        1 => Just(ListShape::NotAList),
        1 => Just(ListShape::TooLong),
    ];
    let parallel = prop_oneof![1 => Just(None), 1 => (1..=2u16).prop_map(Some)];
    let shape = (list, parallel).prop_map(|(list, parallel)| ItemsShape { list, parallel });
    prop_oneof![2 => Just(None), 1 => shape.prop_map(Some)]
}

fn rarely() -> impl Strategy<Value = bool> {
    prop_oneof![4 => Just(false), 1 => Just(true)]
}

fn any_move() -> impl Strategy<Value = Move> {
    let step = any::<u8>;
    let cancel_mode =
        prop_oneof![Just(None), Just(Some(CancelMode::Drain)), Just(Some(CancelMode::Immediate))];
    prop_oneof![
        2 => (carried(), any::<bool>())
            .prop_map(|(carried, in_part)| Move::Start { carried, in_part }),
        4 => (0..3u8).prop_map(Move::OpenGate),
        6 => (step(), fence()).prop_map(|(step, fence)| Move::Ack { step, fence }),
        20 => (step(), fence(), answer(), 0..4u8)
            .prop_map(|(step, fence, answer, spent)| Move::Report { step, fence, answer, spent }),
        3 => (step(), fence()).prop_map(|(step, fence)| Move::Extend { step, fence }),
        2 => (step(), fence()).prop_map(|(step, fence)| Move::Published { step, fence }),
        2 => (step(), fence()).prop_map(|(step, fence)| Move::PublishFailed { step, fence }),
        2 => (step(), fence()).prop_map(|(step, fence)| Move::Undelivered { step, fence }),
        4 => (0..70u8).prop_map(|after_secs| Move::Wake { after_secs }),
        10 => Just(Move::WakeWhenDue),
        1 => any::<u8>().prop_map(|secs| Move::WakeInThePast { secs }),
        2 => cancel_mode.prop_map(Move::Cancel),
        2 => Just(Move::Pause),
        3 => Just(Move::Resume),
        2 => step().prop_map(|step| Move::Retry { step }),
        1 => step().prop_map(|step| Move::Skip { step }),
        1 => step().prop_map(|step| Move::MarkSucceeded { step }),
    ]
}

fn carried() -> impl Strategy<Value = Option<u8>> {
    prop_oneof![1 => Just(None), 1 => any::<u8>().prop_map(Some)]
}

fn fence() -> impl Strategy<Value = FenceChoice> {
    prop_oneof![
        12 => Just(FenceChoice::Current),
        2 => any::<u8>().prop_map(FenceChoice::Seen),
        1 => Just(FenceChoice::WrongAttempt),
        1 => Just(FenceChoice::WrongLease),
    ]
}

fn answer() -> impl Strategy<Value = Answer> {
    prop_oneof![
        6 => Just(Answer::Done),
        1 => Just(Answer::DoneWithoutOutput),
        4 => Just(Answer::NotFinished),
        4 => Just(Answer::Broken),
        1 => Just(Answer::BrokenForGood),
        1 => Just(Answer::BrokenAndBusy),
    ]
}
