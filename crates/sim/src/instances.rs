//! Instances that start, die, and stand still while another takes over.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use stepwell_connectors::clock::Clock;
use stepwell_connectors::egress::{Egress, Policy};
use stepwell_connectors::source::Source;
use stepwell_engine::{Engine, IdSource, Parts, Retention, Scheduler, Settings, Sources};

use crate::bugs::Bug;
use crate::bus::SimBus;
use crate::chance::Chance;
use crate::clock::SkewedClock;
use crate::door::{Door, Instance};
use crate::faults::Kind;
use crate::life::Life;
use crate::shared::Shared;
use crate::source::SimSource;
use crate::store::SimStore;

/// Starts instances, one after the other.
pub struct Instances {
    shared: Arc<Shared>,
    door: Arc<Door>,
    chance: Chance,
    ids: IdSource,
    number: u32,
}

impl Instances {
    /// Nobody yet.
    #[must_use]
    pub fn new(shared: Arc<Shared>, door: Arc<Door>) -> Self {
        let chance = Chance::of(shared.plan.seed, "instances");
        let ids = ids(shared.plan.seed, shared.has(Bug::RepeatIds));
        Self { shared, door, chance, ids, number: 0 }
    }

    /// Starts an instance, however often it takes.
    pub async fn start(&mut self) {
        loop {
            self.number += 1;
            let life = Arc::new(Life::new(self.number));
            let engine = Engine::start(self.parts(&life), &life.to_string()).await;
            match engine {
                Ok(engine) if !life.is_dead() => {
                    self.door.add(Arc::new(Instance { life, engine }));
                    return;
                }
                Ok(engine) => engine.crash(),
                Err(_) => {}
            }
            self.shared.clock.sleep_ms(self.chance.between(500, 5_000)).await;
        }
    }

    /// Lets instances die and stand still until the faults end.
    pub async fn trouble(mut self) -> Self {
        while !self.shared.is_over() {
            let shared = Arc::clone(&self.shared);
            let nap_ms = self.chance.between(5_000, 240_000);
            tokio::select! {
                biased;
                () = shared.died.notified() => {
                    self.door.bury();
                    self.come_back().await;
                    continue;
                }
                () = shared.clock.sleep_ms(nap_ms) => {}
            }
            let Some(victim) = self.victim() else {
                self.start().await;
                continue;
            };
            if shared.strikes(Kind::InstanceCrash, &victim.life) {
                self.door.kill(&victim);
                self.come_back().await;
            } else if shared.strikes(Kind::InstancePause, &victim.life) {
                self.stand_still(&victim);
                if shared.plan.instances == 1 {
                    self.start().await;
                }
            }
        }
        self
    }

    /// Starts as many instances as this world has at a time.
    pub async fn start_all(&mut self) {
        for _ in 0..self.shared.plan.instances {
            self.start().await;
        }
    }

    /// Where one takes over from the other, the newest counts; among equals, any.
    fn victim(&mut self) -> Option<Arc<Instance>> {
        if self.shared.plan.instances == 1 {
            return self.door.newest();
        }
        self.door.any(&mut self.chance)
    }

    async fn come_back(&mut self) {
        self.shared.clock.sleep_ms(self.chance.between(0, 60_000)).await;
        self.start().await;
    }

    /// The instance stops where it stands, and goes on later as if nothing had happened.
    fn stand_still(&mut self, instance: &Arc<Instance>) {
        instance.life.set_paused(true);
        let (shared, door) = (Arc::clone(&self.shared), Arc::clone(&self.door));
        let instance = Arc::clone(instance);
        let (still_ms, after_ms) =
            (self.chance.between(1_000, 300_000), self.chance.between(1_000, 120_000));
        tokio::spawn(async move {
            shared.clock.sleep_ms(still_ms).await;
            shared.note(&instance.life, "goes on");
            instance.life.set_paused(false);
            if shared.plan.instances == 1 {
                shared.clock.sleep_ms(after_ms).await;
                door.kill(&instance);
            }
        });
    }

    fn parts(&mut self, life: &Arc<Life>) -> Parts {
        let skew_ms = self.skew_ms(life);
        let shared = &self.shared;
        let hasty_ms = if shared.has(Bug::HastyClock) { 2 * 3_600_000 } else { 0 };
        let clock: Arc<dyn Clock> = SkewedClock::new(Arc::clone(&shared.clock), skew_ms + hasty_ms);
        let bus = Arc::new(SimBus::new(Arc::clone(shared), Arc::clone(life), Arc::clone(&clock)));
        let store = SimStore::new(Arc::clone(shared), Arc::clone(life), Arc::clone(&bus));
        Parts {
            store: Arc::new(store),
            bus,
            clock,
            egress: egress(),
            webhook_secret: Vec::new(),
            settings: Settings {
                group_max: shared.plan.group_max,
                cached_runs_max: shared.plan.cached_runs_max,
                ids: self.ids.clone(),
                ownership: shared.plan.ownership,
                retention: Retention { ledger: shared.plan.ledger_kept, ..Retention::default() },
                scheduler: scheduler(shared, life),
                ..Settings::default()
            },
        }
    }

    fn skew_ms(&mut self, life: &Life) -> i64 {
        if !self.shared.strikes(Kind::ClockSkew, life) {
            return 0;
        }
        let max_ms = self.shared.plan.skew_max_ms;
        let skew_ms = i64::try_from(self.chance.between(0, 2 * max_ms)).unwrap_or(0);
        skew_ms - i64::try_from(max_ms).unwrap_or(0)
    }
}

/// Asks the world's source, where there is a runbook that has one.
fn scheduler(shared: &Arc<Shared>, life: &Arc<Life>) -> Scheduler {
    let (asked, by) = (Arc::clone(shared), Arc::clone(life));
    let open = move |_: &_| Ok(Box::new(SimSource::new(&asked, &by)) as Box<dyn Source>);
    Scheduler {
        enabled: shared.plan.batches > 0,
        tick: shared.plan.tick,
        sources: Sources::new(open),
    }
}

/// Ids that a seed determines.
fn ids(seed: u64, repeating: bool) -> IdSource {
    let chance = Mutex::new(Chance::of(seed, "ids"));
    IdSource::new(move || {
        let mut bytes = [0; 10];
        if !repeating {
            let mut chance = chance.lock().unwrap_or_else(PoisonError::into_inner);
            bytes[..8].copy_from_slice(&chance.bits().to_be_bytes());
            bytes[8..].copy_from_slice(&chance.bits().to_be_bytes()[..2]);
        }
        bytes
    })
}

/// Nothing of a world leaves it, so one client serves all; building it reads certificates.
fn egress() -> Egress {
    static EGRESS: OnceLock<Egress> = OnceLock::new();
    EGRESS.get_or_init(|| Egress::new(Policy::default()).expect("a client can be built")).clone()
}
