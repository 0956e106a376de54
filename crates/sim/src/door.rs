//! How the people of a world reach the engine: through whichever instance answers.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use stepwell_core::command::{Command, Fence, StepRef};
use stepwell_core::id::RunId;
use stepwell_engine::{Answered, Ask, Engine, EngineError, Kept, Reply, SignOfLife};

use crate::bugs::Bug;
use crate::chance::Chance;
use crate::faults::Kind;
use crate::life::Life;
use crate::shared::Shared;

/// How long a caller waits before it gives up on an answer.
const PATIENCE_MS: u64 = 30_000;

/// A running engine, and whether it lives.
pub struct Instance {
    /// whether it lives
    pub life: Arc<Life>,
    /// the engine itself
    pub engine: Engine,
}

/// Leads to whichever instance answers.
pub struct Door {
    shared: Arc<Shared>,
    instances: Mutex<Vec<Arc<Instance>>>,
}

/// Nobody answered; whatever was asked may have happened.
#[derive(Clone, Copy, Debug)]
pub struct NoAnswer;

impl Door {
    /// A door to nobody.
    #[must_use]
    pub fn new(shared: Arc<Shared>) -> Arc<Self> {
        Arc::new(Self { shared, instances: Mutex::default() })
    }

    /// From here on this instance is the newest.
    pub fn add(&self, instance: Arc<Instance>) {
        let mut instances = self.instances();
        instances.retain(|instance| !instance.life.is_dead());
        instances.push(instance);
    }

    /// Kills an instance where it stands.
    pub fn kill(&self, instance: &Instance) {
        instance.life.kill();
        instance.engine.crash();
        self.shared.note(&instance.life, "dies");
        self.instances().retain(|instance| !instance.life.is_dead());
    }

    /// Ends the tasks of instances that died inside a call.
    pub fn bury(&self) {
        let dead: Vec<Arc<Instance>> = {
            let instances = self.instances();
            instances.iter().filter(|instance| instance.life.is_dead()).cloned().collect()
        };
        dead.iter().for_each(|instance| self.kill(instance));
    }

    /// Kills every instance.
    pub fn kill_all(&self) {
        let all: Vec<Arc<Instance>> = self.instances().clone();
        all.iter().for_each(|instance| self.kill(instance));
    }

    /// Every instance that lives.
    #[must_use]
    pub fn living(&self) -> Vec<Arc<Instance>> {
        self.instances().iter().filter(|instance| !instance.life.is_dead()).cloned().collect()
    }

    /// The newest instance that lives.
    #[must_use]
    pub fn newest(&self) -> Option<Arc<Instance>> {
        self.instances().iter().rev().find(|instance| !instance.life.is_dead()).cloned()
    }

    /// Any of those that share the store; otherwise usually the newest, and now and then one that
    /// believes that it is.
    pub fn any(&self, chance: &mut Chance) -> Option<Arc<Instance>> {
        let instances = self.instances();
        let living: Vec<&Arc<Instance>> =
            instances.iter().filter(|instance| !instance.life.is_dead()).collect();
        let newest = living.last().copied().cloned();
        let anybody = if self.shared.plan.instances > 1 { 1_000 } else { 300 };
        if living.len() > 1 && chance.permille(anybody) {
            return Some(Arc::clone(living[chance.index(living.len())]));
        }
        newest
    }

    /// Asks some instance, and waits for its answer for a while.
    ///
    /// # Errors
    /// When no answer came: the caller cannot know whether it happened.
    pub async fn ask(&self, chance: &mut Chance, ask: Ask) -> Result<Answered, NoAnswer> {
        let instance = self.any(chance).ok_or(NoAnswer)?;
        self.note_word(&ask);
        let ask = self.spoiled(ask);
        let answer = tokio::select! {
            biased;
            answer = instance.engine.ask_one(ask) => answer,
            () = self.shared.clock.sleep_ms(PATIENCE_MS) => return Err(NoAnswer),
        };
        if let Ok(Reply::Started(run) | Reply::Applied(run)) = &answer {
            self.shared.oracle().applied(run.id(), run.version);
        }
        if self.shared.strikes(Kind::AnswerLost, &instance.life) {
            return Err(NoAnswer);
        }
        Ok(answer)
    }

    /// Asks until there is a real answer, so many times.
    pub async fn insist(&self, chance: &mut Chance, ask: Ask, tries: u32) -> Option<Answered> {
        for _ in 0..tries {
            match self.ask(chance, ask.clone()).await {
                Err(NoAnswer)
                | Ok(Err(EngineError::Unavailable(_) | EngineError::Stopped | EngineError::Busy)) =>
                    {}
                Ok(answer) => return Some(answer),
            }
            self.shared.clock.sleep_ms(chance.between(500, 5_000)).await;
        }
        None
    }

    /// Sends a command until somebody takes it, so many times.
    pub async fn command(&self, chance: &mut Chance, run: RunId, command: Command, tries: u32) {
        self.insist(chance, Ask::command(run, command), tries).await;
    }

    /// A worker gives a sign of life; `None` if it is not told what it is worth.
    pub async fn alive(&self, chance: &mut Chance, mut sign: SignOfLife) -> Option<Kept> {
        let instance = self.any(chance)?;
        self.shared.oracle().heard(sign.fence.lease);
        if self.shared.has(Bug::KeepAnybody)
            && let Some(current) = self.any_fence(sign.run)
        {
            (sign.step, sign.fence) = current;
        }
        let answers = tokio::select! {
            biased;
            answers = instance.engine.extend_attempts(vec![sign]) => answers.ok()?,
            () = self.shared.clock.sleep_ms(PATIENCE_MS) => return None,
        };
        if self.shared.strikes(Kind::AnswerLost, &instance.life) {
            return None;
        }
        answers.into_iter().next()?.ok()
    }

    /// Only a word of whoever has a lease may extend it, so each is counted.
    fn note_word(&self, ask: &Ask) {
        if let Ask::Command { command, .. } = ask
            && let Command::Ack { fence, .. } | Command::Report { fence, .. } = command
        {
            self.shared.oracle().heard(fence.lease);
        }
    }

    /// A planted bug: whatever a report says, it is taken for one of the attempt in force.
    fn spoiled(&self, mut ask: Ask) -> Ask {
        if self.shared.has(Bug::SkipLeaseCheck)
            && let Ask::Command { run, command: Command::Report { step, fence, .. }, .. } = &mut ask
            && let Some(current) = self.current_fence(*run, step)
        {
            *fence = current;
        }
        ask
    }

    fn current_fence(&self, run: RunId, step: &StepRef) -> Option<Fence> {
        let oracle = self.shared.oracle();
        let run = oracle.run(run)?;
        let StepRef::Index(step) = step else { return None };
        let lease = run.steps.get(step.position())?.lease?;
        Some(Fence { attempt: lease.attempt, lease: lease.id })
    }

    /// Whatever a worker has of a run.
    fn any_fence(&self, run: RunId) -> Option<(StepRef, Fence)> {
        let oracle = self.shared.oracle();
        let run = oracle.run(run)?;
        let kept = run.indexed().find(|(step, _)| run.is_kept(*step));
        let (step, lease) = kept.and_then(|(step, state)| Some((step, state.lease?)))?;
        Some((StepRef::Index(step), Fence { attempt: lease.attempt, lease: lease.id }))
    }

    fn instances(&self) -> MutexGuard<'_, Vec<Arc<Instance>>> {
        self.instances.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
