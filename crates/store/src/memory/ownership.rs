//! Several instances on one set of maps: who lives, who owns what, and what they say to each other.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use stepwell_core::duration::Interval;
use stepwell_core::id::RunId;
use stepwell_core::time::Timestamp;
use tokio::sync::mpsc;

use super::Tables;
use crate::error::StoreError;
use crate::model::*;

/// Words that may wait for an instance; further ones are lost, as words may be.
const SIGNALS_MAX: usize = 1_024;

/// The clock that a shared store goes by.
pub(super) type Now = Box<dyn Fn() -> Timestamp + Send + Sync>;

/// What makes a store shared.
pub(super) struct Sharing {
    pub(super) now: Now,
    instances: BTreeMap<Epoch, Member>,
    /// in the order in which they came
    inputs: BTreeMap<u64, Input>,
    inputs_ever: u64,
}

struct Member {
    id: String,
    started_at: Timestamp,
    heartbeat_at: Timestamp,
    state: InstanceState,
    stats: Value,
    ear: Option<mpsc::Sender<Signal>>,
}

impl std::fmt::Debug for Sharing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sharing").field("inputs", &self.inputs).finish_non_exhaustive()
    }
}

impl Sharing {
    pub(super) fn new(now: Now) -> Self {
        Self { now, instances: BTreeMap::new(), inputs: BTreeMap::new(), inputs_ever: 0 }
    }

    pub(super) fn join(&mut self, epoch: Epoch, id: &str) {
        let now = (self.now)();
        let member = Member {
            id: id.to_owned(),
            started_at: now,
            heartbeat_at: now,
            state: InstanceState::Alive,
            stats: Value::Null,
            ear: None,
        };
        self.instances.insert(epoch, member);
    }

    /// Refuses whoever was declared dead, or has said good-bye.
    pub(super) fn fence(&self, epoch: Epoch) -> Result<(), StoreError> {
        if self.lives(epoch) {
            return Ok(());
        }
        let newest = self.instances.last_key_value().map_or(0, |(newest, _)| newest.0);
        Err(StoreError::Fenced { mine: epoch.0, current: newest })
    }

    /// Whether the holder of a right was an instance that has ended.
    pub(super) fn is_gone(&self, holder: &str) -> bool {
        let epoch = holder.parse().ok().map(Epoch);
        let member = epoch.and_then(|epoch| self.instances.get(&epoch));
        member.is_some_and(|member| member.state != InstanceState::Alive)
    }

    fn lives(&self, epoch: Epoch) -> bool {
        self.instances.get(&epoch).is_some_and(|member| member.state == InstanceState::Alive)
    }

    fn beat(&mut self, epoch: Epoch, stats: Value) -> Result<Pulse, StoreError> {
        self.fence(epoch)?;
        let now = (self.now)();
        if let Some(member) = self.instances.get_mut(&epoch) {
            member.heartbeat_at = now;
            member.stats = stats;
        }
        Ok(Pulse { now: Some(now) })
    }

    /// Declares everybody dead who was silent for too long; says who, and when the next one will have
    /// been.
    fn bury(&mut self, me: Epoch, silence: Interval) -> (Vec<Epoch>, Option<Interval>) {
        let now = (self.now)();
        let mut dead = Vec::new();
        let mut next: Option<Interval> = None;
        for (epoch, member) in &mut self.instances {
            if *epoch == me || member.state != InstanceState::Alive {
                continue;
            }
            let ends_at = member.heartbeat_at.after(silence);
            if ends_at < now {
                member.state = InstanceState::Dead;
                dead.push(*epoch);
            } else {
                let left = ends_at.since(now);
                next = Some(next.map_or(left, |next| next.min(left)));
            }
        }
        (dead, next)
    }

    pub(super) fn say(&self, to: Epoch, signal: Signal) {
        if let Some(ear) = self.instances.get(&to).and_then(|member| member.ear.as_ref()) {
            // A full or deaf ear loses the word; what counts stands in the tables.
            let _ = ear.try_send(signal);
        }
    }

    fn say_to_all(&self, from: Option<Epoch>, signal: &Signal) {
        for epoch in self.instances.keys().filter(|epoch| Some(**epoch) != from) {
            self.say(*epoch, signal.clone());
        }
    }

    pub(super) fn keep_input(&mut self, input: Input) {
        self.inputs_ever += 1;
        self.inputs.insert(self.inputs_ever, input);
    }

    fn strike_off(&mut self, answer: InputAnswer) {
        let InputAnswer { input, to, body, .. } = answer;
        self.inputs.retain(|_, kept| kept.id != input);
        self.say(to, Signal::Answered { input, body });
    }
}

impl Tables {
    pub(super) fn heartbeat(&mut self, epoch: Epoch, stats: Value) -> Result<Pulse, StoreError> {
        match &mut self.sharing {
            Some(sharing) => sharing.beat(epoch, stats),
            None => Ok(Pulse::default()),
        }
    }

    pub(super) fn reclaim(
        &mut self,
        epoch: Epoch,
        silence: Interval,
        limit: usize,
    ) -> Result<Reclaimed, StoreError> {
        let Some(sharing) = &mut self.sharing else { return Ok(Reclaimed::default()) };
        sharing.fence(epoch)?;
        let (dead, next_in) = sharing.bury(epoch, silence);
        let waited_for: BTreeSet<RunId> = sharing.inputs.values().map(|input| input.run).collect();
        let mut runs = Vec::new();
        for (id, entry) in &mut self.runs {
            let orphaned = entry.owner.is_none_or(|owner| !sharing.lives(owner));
            let wanted = !entry.run.status.is_terminal() || waited_for.contains(id);
            if runs.len() < limit && orphaned && wanted {
                entry.owner = Some(epoch);
                runs.push(*id);
            }
        }
        Ok(Reclaimed { runs, dead, next_in })
    }

    pub(super) fn hand_over(
        &mut self,
        from: Epoch,
        runs: Vec<RunId>,
        to: Epoch,
    ) -> Result<Vec<RunId>, StoreError> {
        let Some(sharing) = &self.sharing else { return Ok(Vec::new()) };
        sharing.fence(from)?;
        if !sharing.lives(to) {
            return Ok(Vec::new());
        }
        let mut given = Vec::new();
        for id in runs {
            if let Some(entry) = self.runs.get_mut(&id)
                && entry.owner == Some(from)
                && !entry.run.status.is_terminal()
            {
                entry.owner = Some(to);
                given.push(id);
            }
        }
        if !given.is_empty() {
            sharing.say(to, Signal::Given);
        }
        Ok(given)
    }

    pub(super) fn retire(&mut self, epoch: Epoch) {
        let Some(sharing) = &mut self.sharing else { return };
        if let Some(member) = sharing.instances.get_mut(&epoch)
            && member.state == InstanceState::Alive
        {
            member.state = InstanceState::Stopped;
            member.ear = None;
        }
        for entry in self.runs.values_mut().filter(|entry| entry.owner == Some(epoch)) {
            entry.owner = None;
        }
        sharing.say_to_all(Some(epoch), &Signal::Free);
    }

    pub(super) fn instances(&self) -> Vec<Instance> {
        let Some(sharing) = &self.sharing else { return Vec::new() };
        let now = (sharing.now)();
        let seen = sharing.instances.iter().map(|(epoch, member)| {
            let owned = self
                .runs
                .values()
                .filter(|entry| entry.owner == Some(*epoch) && !entry.run.status.is_terminal());
            Instance {
                epoch: *epoch,
                id: member.id.clone(),
                started_at: member.started_at,
                heartbeat_at: member.heartbeat_at,
                silent_for: now.since(member.heartbeat_at),
                state: member.state,
                owned: owned.count() as u64,
                stats: member.stats.clone(),
            }
        });
        seen.collect()
    }

    pub(super) fn inputs(&self, epoch: Epoch, limit: usize) -> Vec<Input> {
        let Some(sharing) = &self.sharing else { return Vec::new() };
        let mine: BTreeSet<RunId> = sharing.inputs.values().map(|input| input.run).collect();
        let mine: BTreeSet<RunId> = mine
            .into_iter()
            .filter(|run| self.runs.get(run).is_some_and(|entry| entry.owner == Some(epoch)))
            .collect();
        let found = sharing.inputs.values().filter(|input| mine.contains(&input.run));
        found.take(limit).cloned().collect()
    }

    pub(super) fn listen(&mut self, epoch: Epoch) -> mpsc::Receiver<Signal> {
        let (mouth, ear) = mpsc::channel(SIGNALS_MAX);
        if let Some(sharing) = &mut self.sharing
            && let Some(member) = sharing.instances.get_mut(&epoch)
        {
            member.ear = Some(mouth);
        }
        ear
    }

    pub(super) fn tell(&self, from: Option<Epoch>, signal: &Signal) {
        if let Some(sharing) = &self.sharing {
            sharing.say_to_all(from, signal);
        }
    }

    /// Strikes inputs off that the owner has answered, and tells whoever waits.
    pub(super) fn strike_off(&mut self, me: Epoch, answers: Vec<InputAnswer>, stale: &[RunId]) {
        let Some(sharing) = &mut self.sharing else { return };
        for answer in answers {
            let mine = self.runs.get(&answer.run).is_some_and(|entry| entry.owner == Some(me));
            if mine && !(answer.written && stale.contains(&answer.run)) {
                sharing.strike_off(answer);
            }
        }
    }

    /// Stores something for a run that another instance owns, and tells the owner.
    pub(super) fn forward(&mut self, input: Input) -> Verdict {
        let owner = self.runs.get(&input.run).map(|entry| entry.owner);
        match (owner, &mut self.sharing) {
            (Some(owner), Some(sharing)) => {
                sharing.keep_input(input);
                if let Some(owner) = owner {
                    sharing.say(owner, Signal::Inputs);
                }
                Verdict::Done
            }
            (None, _) | (_, None) => Verdict::Stale,
        }
    }
}
