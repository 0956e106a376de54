//! A worker that keeps an attempt of a job: it takes one message, gives signs of life, and goes on with
//! the step that comes with the answer to its report.

use std::sync::Arc;

use stepwell_core::command::Command;
use stepwell_core::effect::Directive;
use stepwell_core::run::Run;
use stepwell_engine::{Answered, Kept, Reply, SignOfLife};

use super::Attempt;
use crate::chance::Chance;
use crate::faults::Kind;
use crate::oracle::Probe;

impl Attempt {
    /// Does one step after the other, until there is none, or it is lost.
    pub(super) async fn keep(mut self) {
        if self.strikes(Kind::WorkerSilent) || self.gives_back().await {
            return;
        }
        if self.chance.permille(700) {
            let ack = Command::Ack { step: self.step(), fence: self.fence() };
            self.send(ack).await;
        }
        while let Some(next) = self.does_one().await {
            self.worker.shared.oracle().saw(Probe::WentOn);
            self.taken.directive = next;
            if self.strikes(Kind::WorkerSilent) {
                return;
            }
        }
    }

    /// Does a step; what it goes on with.
    async fn does_one(&mut self) -> Option<Directive> {
        if !self.stays_alive().await {
            return None;
        }
        let outcome = self.makes();
        if self.strikes(Kind::WorkerCrash) {
            return None;
        }
        if self.strikes(Kind::AnswerLate) {
            self.sleep_minutes(1, 20).await;
        }
        if let Some(fence) = self.lie() {
            self.report(fence, outcome.clone()).await;
        }
        let answer = self.report(self.fence(), outcome.clone()).await;
        if self.strikes(Kind::AnswerTwice) {
            self.report(self.fence(), outcome).await;
        }
        if self.strikes(Kind::SignLate) {
            self.gives_late_sign();
        }
        if self.strikes(Kind::NextLost) {
            return None;
        }
        self.next(answer).await
    }

    /// A sign of life for a step that it has reported arrives while somebody is at the next one.
    fn gives_late_sign(&mut self) {
        let (worker, sign) = (Arc::clone(&self.worker), self.sign());
        let late_ms = self.lease_ms() * self.chance.between(26, 60) / 100;
        let mut chance = Chance::of(self.chance.bits(), "late sign");
        tokio::spawn(async move {
            worker.shared.clock.sleep_ms(late_ms).await;
            worker.door.alive(&mut chance, sign).await;
        });
    }

    fn sign(&self) -> SignOfLife {
        SignOfLife { run: self.taken.run.id(), step: self.step(), fence: self.fence() }
    }

    fn lease_ms(&self) -> u64 {
        self.taken.run.keeping().map_or(60_000, |keeping| keeping.lease.as_millis())
    }

    /// Works for a while, and says so; `false` if it was told that the attempt is no longer its own.
    async fn stays_alive(&mut self) -> bool {
        if !self.strikes(Kind::WorkerSlow) {
            let nap_ms = self.chance.between(0, 3_000);
            self.worker.shared.clock.sleep_ms(nap_ms).await;
            return true;
        }
        let lease_ms = self.lease_ms();
        for _ in 0..self.chance.between(1, 12) {
            self.worker.shared.clock.sleep_ms(lease_ms / 3).await;
            if self.strikes(Kind::SignLost) {
                continue;
            }
            let sign =
                SignOfLife { run: self.taken.run.id(), step: self.step(), fence: self.fence() };
            let kept = self.worker.door.alive(&mut self.chance, sign).await;
            if matches!(kept, Some(Kept::Lost(_) | Kept::Gone)) {
                self.worker.shared.oracle().saw(Probe::AttemptLost);
                // Some do not listen, and report all the same.
                return self.chance.permille(300);
            }
        }
        true
    }

    /// What it goes on with: as it was told, or as it finds out when it was told nothing.
    async fn next(&mut self, answer: Option<Answered>) -> Option<Directive> {
        let lease = self.taken.directive.lease;
        let told = |run: &Run| run.continuation(lease);
        match answer {
            Some(Ok(Reply::Applied(run) | Reply::Stored(run) | Reply::Started(run))) => told(&run),
            Some(Ok(Reply::Repeated(_))) => None,
            Some(Err(_)) | None => {
                let instance = self.worker.door.any(&mut self.chance)?;
                let run = instance.engine.run(self.taken.run.id()).await.ok()??;
                let next = told(&run);
                if next.is_some() {
                    self.worker.shared.oracle().saw(Probe::NextFound);
                }
                next
            }
        }
    }
}
