//! Runs to be stored: a small workflow, ids that count, and decisions made by `core`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Map, Value, json};
use stepwell_core::batch::Tally;
use stepwell_core::command::{Command, Fence, StepRef};
use stepwell_core::credit::Credits;
use stepwell_core::decide::{At, decide};
use stepwell_core::definition::{
    CancelMode, FailureMode, ForEach, Part, Poll, StepSpec, TimeoutMode, Workflow,
};
use stepwell_core::duration::Interval;
use stepwell_core::entry::Record;
use stepwell_core::id::{RunId, StepIndex, Tenant};
use stepwell_core::retry::RetryPolicy;
use stepwell_core::run::{Dialect, Header, Parent, Run};
use stepwell_core::step::{Outcome, Step, StepError};
use stepwell_core::time::Timestamp;
use uuid::Uuid;

use super::Subject;
use crate::Store;
use crate::model::{
    Advance, Create, DeadLetterDepth, Epoch, Filter, GivenUp, Group, Item, Key, NewDeadLetter,
    NewEvent, NewMessage, Outgoing, Page, RunSummary, StoredRun, Told, Verdict,
};

/// 2025-03-15T00:00:00Z, the moment at which every case begins.
const DAWN_MS: i64 = 1_741_996_800_000;

/// A store with the right to write to it.
pub struct World {
    /// the store
    pub store: Arc<dyn Store>,
    /// the right to write
    pub epoch: Epoch,
}

impl World {
    /// Takes the store of a case over.
    pub async fn of(subject: &Subject) -> Self {
        Self::named(subject, "conformance").await
    }

    /// The same, under a name of its own.
    pub async fn named(subject: &Subject, instance: &str) -> Self {
        let epoch = subject.store.open_epoch(instance).await.expect("a fresh store opens");
        Self { store: Arc::clone(&subject.store), epoch }
    }

    /// Commits a group and answers with its verdicts.
    pub async fn commits(&self, items: Vec<Item>) -> Vec<Verdict> {
        let group = Group::of(self.epoch, items);
        self.store.commit(group).await.expect("the store takes the group")
    }

    /// Commits one item that must be done.
    pub async fn stores(&self, item: Item) {
        assert_eq!(self.commits(vec![item]).await, [Verdict::Done]);
    }

    /// Stores a started run.
    pub async fn begins(&self, header: Header) -> Arc<Run> {
        let create = started(header);
        let run = Arc::clone(&create.run);
        self.stores(item(create)).await;
        run
    }

    /// Decides a command on a run and stores the decision.
    pub async fn moves(&self, run: &Arc<Run>, command: &Command) -> Arc<Run> {
        self.takes(decided(run, command)).await
    }

    /// Stores a decision.
    pub async fn takes(&self, advance: Advance) -> Arc<Run> {
        let after = Arc::clone(&advance.run);
        self.stores(Item::Advance(Box::new(advance))).await;
        after
    }

    /// Stores the success of every step, one after the other, until the run has ended.
    pub async fn finishes(&self, mut run: Arc<Run>) -> Arc<Run> {
        while !run.status.is_terminal() {
            run = self.moves(&run, &success(&run)).await;
        }
        run
    }

    /// The run as it is stored.
    pub async fn stored(&self, run: RunId) -> Option<StoredRun> {
        let mut found = self.loads(vec![run]).await;
        assert!(found.len() <= 1, "one id gives at most one run");
        found.pop()
    }

    /// Runs as they are stored. Who owns them is said by the store alone, and checked here.
    pub async fn loads(&self, runs: Vec<RunId>) -> Vec<StoredRun> {
        let mut found = self.store.load(runs).await.expect("runs can be loaded");
        for run in &mut found {
            let owner = run.owner.take();
            assert!(owner.is_none() || self.store.is_shared(), "only a shared store has owners");
        }
        found
    }

    /// Messages to the outside that are due, kept from nobody.
    pub async fn outbox(&self, now: Timestamp, limit: usize) -> Outgoing {
        let keep = Interval::from_secs(0);
        self.store.outbox(now, keep, limit).await.expect("an outbox")
    }

    /// The run with this number, ready for the next decision.
    pub async fn run(&self, number: u64) -> Arc<Run> {
        let stored = self.stored(run_id(number)).await.expect("the run is stored");
        Arc::new(stored.with_workflow(Arc::new(workflow("onboard"))))
    }

    /// Ids of a page of runs.
    pub async fn lists(&self, filter: Filter, page: Page) -> Vec<RunId> {
        self.summaries(filter, page).await.into_iter().map(|summary| summary.id).collect()
    }

    /// A page of runs.
    pub async fn summaries(&self, filter: Filter, page: Page) -> Vec<RunSummary> {
        self.store.runs(filter, page).await.expect("runs can be listed")
    }
}

/// The moment so many seconds after dawn.
pub fn at(seconds: u64) -> Timestamp {
    Timestamp::from_millis(DAWN_MS).after(Interval::from_secs(seconds))
}

/// The id of the run with this number; a higher number is a later run.
pub fn run_id(number: u64) -> RunId {
    RunId(Uuid::from_u128((u128::from(DAWN_MS.unsigned_abs()) << 80) | u128::from(number)))
}

/// A page large enough for any case.
pub fn all() -> Page {
    Page { before: None, limit: 1_000 }
}

/// The header of a run with this number, of two steps, asked for at dawn.
pub fn header(number: u64) -> Header {
    Header {
        id: run_id(number),
        tenant: Tenant::new("acme"),
        dialect: Dialect::Commands,
        workflow: Arc::new(workflow("onboard")),
        part: Part::Main,
        parent: None,
        resumes: None,
        input: object(&json!({ "name": "ada", "ratio": 0.1 })),
        special: object(&json!({ "_run_id": "r-1" })),
        context: Map::new(),
        routing: None,
        priority: 5,
        correlation_id: None,
        traceparent: None,
        actor: "conformance".to_owned(),
        created_at: at(0),
        membership: None,
        terms: None,
    }
}

/// The header of a run that undoes the first step of another.
pub fn undoing(parent: RunId, number: u64) -> Header {
    Header {
        part: Part::Compensation("undo".to_owned()),
        parent: Some(Parent { run: parent, step: StepIndex(0) }),
        ..header(number)
    }
}

/// Two steps in a row, each with three attempts half a minute apart, of a quarter of an hour each.
pub fn workflow(name: &str) -> Workflow {
    let second = StepSpec { after: vec![StepIndex(0)], ..step("second") };
    Workflow {
        name: name.to_owned(),
        version: 1,
        description: String::new(),
        request_type: None,
        input_schema: None,
        steps: vec![step("first"), second],
        compensations: BTreeMap::from([("undo".to_owned(), vec![step("erase")])]),
        run_retry: None,
        credits: None,
        cancel: CancelMode::Drain,
        failure: FailureMode::SkipDescendants,
    }
}

/// A step that sets the variable `found` and may ask to be asked again.
pub fn step(id: &str) -> StepSpec {
    StepSpec {
        id: id.to_owned(),
        kind: "work".to_owned(),
        pool: "default".to_owned(),
        params: Some(json!({ "who": "{{name}}" })),
        payload_schema: None,
        outputs: BTreeMap::from([("found".to_owned(), "found".to_owned())]),
        after: Vec::new(),
        gate: None,
        when: None,
        for_each: None,
        timeout: Interval::from_secs(900),
        timeout_given: true,
        on_timeout: TimeoutMode::Republish,
        retry: RetryPolicy::fixed(3, Interval::from_secs(30)),
        poll: Some(Poll { interval: Interval::from_secs(60), timeout: Interval::from_secs(600) }),
        on_failure: None,
        continue_on_failure: false,
    }
}

/// A workflow whose steps wait in this pool.
pub fn pooled(pool: &str) -> Arc<Workflow> {
    let mut workflow = workflow("onboard");
    for step in &mut workflow.steps {
        pool.clone_into(&mut step.pool);
    }
    Arc::new(workflow)
}

/// The same, where the first step is done once for each of so many items, two at a time.
pub fn itemized(pool: &str, count: u16) -> Arc<Workflow> {
    let mut workflow = Arc::unwrap_or_clone(pooled(pool));
    workflow.steps[0].for_each = Some(ForEach {
        list: (0..count).map(|number| json!({ "number": number, "ratio": 0.1 })).collect(),
        items_max: count,
        parallel_max: Some(2),
    });
    Arc::new(workflow)
}

/// A new run with its first decision: it starts when it was asked for.
pub fn started(header: Header) -> Create {
    let created_at = header.created_at;
    let run = Run::new(Arc::new(header));
    let (run, record) = decision(&run, &Command::Start { carried: Vec::new() }, created_at);
    let tally = Tally::moved(None, &run);
    Create {
        credits: Vec::new(),
        events: Vec::new(),
        run: Arc::new(run),
        record,
        key: None,
        tenant_cap: None,
        children: Vec::new(),
        outbox: Vec::new(),
        dead_letter: None,
        expires_at: None,
        tally,
    }
}

/// A decision on a run, a second after its last.
pub fn decided(run: &Arc<Run>, command: &Command) -> Advance {
    decided_at(run, command, run.updated_at.after(Interval::from_secs(1)))
}

/// What a run decides when its moment has come.
pub fn woken(run: &Arc<Run>) -> Advance {
    decided_at(run, &Command::Wake, run.wake_at().expect("the run waits for a moment"))
}

fn decided_at(run: &Arc<Run>, command: &Command, now: Timestamp) -> Advance {
    let (after, record) = decision(run, command, now);
    let untouched = Step::new();
    let changed = after
        .steps
        .changed_since(&run.steps)
        .filter(|(_, before, step)| before.unwrap_or(&untouched) != *step)
        .map(|(position, ..)| StepIndex::at(position))
        .collect();
    let tally = Tally::moved(Some(run), &after);
    let header_changed = run.header != after.header;
    Advance {
        credits: Vec::new(),
        events: Vec::new(),
        run: Arc::new(after),
        from_version: run.version,
        changed,
        records: vec![record],
        children: Vec::new(),
        outbox: Vec::new(),
        dead_letter: None,
        expires_at: None,
        tally,
        header_changed,
    }
}

/// A decision as an item.
pub fn moved(run: &Arc<Run>, command: &Command) -> Item {
    Item::Advance(Box::new(decided(run, command)))
}

/// A creation as an item.
pub fn item(create: Create) -> Item {
    Item::Create(Box::new(create))
}

/// The worker of the first step under way is done.
pub fn success(run: &Run) -> Command {
    report(run, Outcome::Succeeded { result: json!({ "found": 0.1, "note": "done" }) })
}

/// The worker of the first step under way failed for good.
pub fn failure(run: &Run) -> Command {
    let error = StepError::new("no_such_user", "there is no such user");
    report(run, Outcome::Failed { error, retryable: false, retry_after: None })
}

/// The worker of the first step under way answers.
pub fn report(run: &Run, outcome: Outcome) -> Command {
    let (step, fence) = under_way(run);
    Command::Report { step: StepRef::Index(step), fence, outcome, spent: Credits::ZERO }
}

/// A worker took the first step under way.
pub fn ack(run: &Run) -> Command {
    let (step, fence) = under_way(run);
    Command::Ack { step: StepRef::Index(step), fence }
}

fn under_way(run: &Run) -> (StepIndex, Fence) {
    let leased = run.indexed().find_map(|(index, step)| Some((index, step.lease?)));
    let (index, lease) = leased.expect("a step is under way");
    (index, Fence { attempt: lease.attempt, lease: lease.id })
}

/// A key for a request, told from others by these two letters.
pub fn key(key: u8, request: u8) -> Key {
    Key { hash: [key; 32], request_hash: [request; 32] }
}

/// A message to the outside.
pub fn message(body: &str, due_at: Timestamp) -> NewMessage {
    NewMessage {
        kind: "webhook".to_owned(),
        destination: "https://receiver.example/hook".to_owned(),
        body: body.to_owned(),
        due_at,
    }
}

/// A dead letter.
pub fn letter(reason: &str) -> NewDeadLetter {
    NewDeadLetter {
        first_error: None,
        reason: reason.to_owned(),
        step: Some("first".to_owned()),
        error: StepError::new("no_such_user", "there is no such user"),
        at: at(9),
    }
}

/// Work that is given up, and of which nobody is told.
pub fn given_up(reason: &str) -> Box<GivenUp> {
    of_letter(letter(reason))
}

/// Work of commands that is given up, with an event and a message about it.
pub fn told_of(reason: &str) -> Box<GivenUp> {
    let event = NewEvent {
        tenant: Tenant::new("acme"),
        dialect: Dialect::Commands,
        run: None,
        kind: "dead_letter.created".to_owned(),
        body: reason.to_owned(),
        at: at(9),
    };
    let told = Told { events: vec![event], messages: vec![message(reason, at(9))] };
    Box::new(GivenUp { told, ..*given_up(reason) })
}

/// The same, with more to say.
pub fn of_letter(letter: NewDeadLetter) -> Box<GivenUp> {
    Box::new(GivenUp { letter, told: Told::default() })
}

/// How many such dead letters of commands nobody has settled.
pub fn depth(reason: &str, count: u64) -> DeadLetterDepth {
    let (dialect, oldest_at) = (Some(Dialect::Commands), letter(reason).at);
    DeadLetterDepth { reason: reason.to_owned(), dialect, count, oldest_at }
}

fn decision(run: &Run, command: &Command, now: Timestamp) -> (Run, Record) {
    let decision = decide(run, command, &mut At { now, fresh: &mut fresh })
        .unwrap_or_else(|refusal| panic!("{command:?} was refused: {refusal}"));
    assert!(!decision.entries.is_empty(), "{command:?} changes something");
    let record = Record {
        version: decision.run.version,
        at: decision.run.updated_at,
        entries: decision.entries,
    };
    (decision.run, record)
}

/// An id that no case has had before.
pub fn fresh() -> Uuid {
    static DRAWN: AtomicU64 = AtomicU64::new(1);
    Uuid::from_u128(u128::from(DRAWN.fetch_add(1, Ordering::Relaxed)))
}

fn object(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().expect("the case gives an object")
}
