//! People with good intentions and bad timing: they cancel, retry, skip, mark, pause, open gates, take
//! ended runs up again, publish new versions, and look at lists.

use std::sync::Arc;

use serde_json::json;
use stepwell_core::command::{Act, Command, Operation, StepRef};
use stepwell_core::definition::CancelMode;
use stepwell_core::id::{RunId, StepIndex, Tenant};
use stepwell_core::run::Run;
use stepwell_dialects::resume::resume;
use stepwell_engine::{Ask, Start};
use stepwell_store::{Filter, Page};

use crate::chance::Chance;
use crate::door::Door;
use crate::faults::Kind;
use crate::oracle::Probe;
use crate::shared::Shared;
use crate::workload::{GATES, document};

/// Ended runs that are taken up again in one world, so that it comes to an end.
const RESUMED_MAX: u32 = 4;

/// How often a person asks for the same thing.
const TRIES: u32 = 3;

/// Everybody who may override something.
pub struct Operators {
    shared: Arc<Shared>,
    door: Arc<Door>,
    chance: Chance,
    editions: Vec<u32>,
    resumed: u32,
}

impl Operators {
    /// Nobody has done anything yet.
    #[must_use]
    pub fn new(shared: Arc<Shared>, door: Arc<Door>) -> Self {
        let chance = Chance::of(shared.plan.seed, "operators");
        let editions = vec![0; shared.plan.workflows];
        Self { shared, door, chance, editions, resumed: 0 }
    }

    /// Publishes the first version of every workflow.
    pub async fn prepare(&mut self) {
        for number in 0..self.editions.len() {
            while !self.publish(number).await {
                self.shared.clock.sleep_ms(1_000).await;
            }
        }
    }

    /// Interferes until the faults end.
    pub async fn interfere(mut self) {
        while !self.shared.is_over() {
            let nap_ms = self.chance.between(1_000, 60_000);
            self.shared.clock.sleep_ms(nap_ms).await;
            self.look().await;
            if self.strikes(Kind::NewVersion) {
                let number = self.chance.index(self.editions.len());
                self.publish(number).await;
            }
            if self.strikes(Kind::OperatorResume) {
                self.take_up().await;
            }
            if let Some(run) = self.some_run() {
                self.operate(run).await;
            }
        }
    }

    /// Lets go of whatever is held, so that it can end; some runs may stay as they are.
    pub async fn release(&mut self) {
        let open = self.shared.oracle().open_runs();
        for (place, run) in open.into_iter().enumerate() {
            let of_batch = self.is_of_batch(run);
            if self.shared.plan.leaves_some_waiting && place % 3 == 0 && !of_batch {
                continue;
            }
            let (paused, mut gates) = self.held(run);
            if of_batch {
                // Its doors are its batch's, and so is its rest.
                gates.clear();
            }
            if paused {
                self.send(run, Command::Resume { by: somebody() }).await;
            }
            for gate in gates {
                self.send(run, Command::OpenGate { gate }).await;
            }
        }
    }

    fn is_of_batch(&self, run: RunId) -> bool {
        self.shared.oracle().header(run).is_some_and(|header| header.membership.is_some())
    }

    fn held(&self, run: RunId) -> (bool, Vec<String>) {
        let oracle = self.shared.oracle();
        let Some(run) = oracle.run(run) else { return (false, Vec::new()) };
        let gates = run.header.specs().iter().filter_map(|spec| spec.gate.clone());
        (run.paused, gates.filter(|gate| !run.gates_open.contains(gate)).collect())
    }

    async fn operate(&mut self, run: RunId) {
        let step = self.some_step(run);
        let operate =
            |operation| Command::Operate { step: step.clone(), operation, by: somebody() };
        let mut commands = Vec::new();
        if self.strikes(Kind::OperatorRetry) {
            commands.push(operate(Operation::Retry));
        }
        if self.strikes(Kind::OperatorSkip) {
            commands.push(operate(Operation::Skip));
        }
        if self.strikes(Kind::OperatorMark) {
            let result = json!({ "id": "marked" });
            commands.push(operate(Operation::MarkSucceeded { result }));
        }
        if self.strikes(Kind::OperatorGate) {
            let gate = self.chance.one_of(&GATES);
            commands.push(Command::OpenGate { gate: (*gate).to_owned() });
        }
        if self.strikes(Kind::OperatorCancel) {
            let modes = [None, Some(CancelMode::Drain), Some(CancelMode::Immediate)];
            let mode = *self.chance.one_of(&modes);
            commands.push(Command::Cancel { mode, by: somebody() });
        }
        if self.strikes(Kind::OperatorPause) {
            commands.push(Command::Pause { by: somebody() });
            self.resume_later(run);
        }
        for command in commands {
            self.send(run, command).await;
        }
    }

    fn resume_later(&mut self, run: RunId) {
        let (shared, door) = (Arc::clone(&self.shared), Arc::clone(&self.door));
        let mut chance = Chance::of(self.chance.bits(), "resume");
        tokio::spawn(async move {
            shared.clock.sleep_ms(chance.between(10_000, 1_200_000)).await;
            door.command(&mut chance, run, Command::Resume { by: somebody() }, TRIES).await;
        });
    }

    async fn publish(&mut self, number: usize) -> bool {
        let Some(instance) = self.door.newest() else { return false };
        let edition = self.editions[number] + 1;
        let source = document(self.shared.plan.seed, number, edition);
        match instance.engine.publish_workflow(source.clone(), "author".to_owned()).await {
            Ok(document) => {
                self.editions[number] = edition;
                self.shared.note("author", format_args!("{} v{}", document.name, document.version));
                if document.version > 1 {
                    self.shared.oracle().saw(Probe::OldVersion);
                }
                true
            }
            Err(stepwell_engine::PublishError::Invalid(problems)) => {
                panic!("a drawn workflow is sound: {problems}\n{source}")
            }
            Err(stepwell_engine::PublishError::Engine(_)) => false,
        }
    }

    /// Takes an ended run up again, with what it had finished.
    async fn take_up(&mut self) {
        let Some(instance) = self.door.newest() else { return };
        let ended = self.some_ended();
        let Some(run) = ended.filter(|_| self.resumed < RESUMED_MAX) else { return };
        self.resumed += 1;
        let (header, carried) = {
            let oracle = self.shared.oracle();
            let Some(run) = oracle.run(run) else { return };
            let id = instance.engine.fresh_run_id();
            resume(run, id, "operator", instance.engine.now())
        };
        let start = Start { header: Arc::new(header), carried, key: None, tenant_cap: None };
        let _ = self.door.ask(&mut self.chance, Ask::Start(Box::new(start))).await;
    }

    /// Looks at the list of a tenant.
    async fn look(&mut self) {
        let Some(instance) = self.door.newest() else { return };
        let tenant = self.chance.one_of(&self.shared.plan.tenants);
        let tenant = Tenant::new(tenant);
        let filter = Filter { tenant: Some(tenant.clone()), ..Filter::default() };
        let page = Page { before: None, limit: 10_000 };
        if let Ok(page) = instance.engine.store().runs(filter, page).await {
            self.shared.oracle().listed(&tenant, &page);
        }
    }

    async fn send(&mut self, run: RunId, command: Command) {
        self.door.command(&mut self.chance, run, command, TRIES).await;
    }

    fn some_run(&mut self) -> Option<RunId> {
        let open = self.shared.oracle().open_runs();
        (!open.is_empty()).then(|| *self.chance.one_of(&open))
    }

    fn some_ended(&mut self) -> Option<RunId> {
        let oracle = self.shared.oracle();
        let ended = |run: &RunId| {
            let run = oracle.run(*run);
            // Members are taken up again by their batch.
            let is_alone =
                |run: &Run| run.header.parent.is_none() && run.header.membership.is_none();
            run.is_some_and(|run| run.status.is_terminal() && is_alone(run))
        };
        let ended: Vec<RunId> = oracle.run_ids().into_iter().filter(ended).collect();
        (!ended.is_empty()).then(|| *self.chance.one_of(&ended))
    }

    fn some_step(&mut self, run: RunId) -> StepRef {
        let steps = self.shared.oracle().run(run).map_or(1, |run| run.steps.len());
        StepRef::Index(StepIndex::at(self.chance.index(steps)))
    }

    fn strikes(&self, kind: Kind) -> bool {
        self.shared.strikes(kind, "operator")
    }
}

fn somebody() -> Act {
    Act::new("operator", "because")
}
