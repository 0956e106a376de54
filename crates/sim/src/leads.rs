//! People who lead batches: they publish runbooks, change rows, move batches on, pause, move T-0,
//! stop, take failed members up again, and never know when to leave well alone.

use std::sync::Arc;

use serde_json::json;
use stepwell_core::batch::{Batch, BatchCommand, BatchMode};
use stepwell_core::command::Act;
use stepwell_core::id::BatchId;
use stepwell_core::time::Timestamp;
use stepwell_dialects::runbooks::accept::publication;
use stepwell_engine::{BatchError, BatchOperation, BatchOrder, OrderFilter};

use crate::chance::Chance;
use crate::door::{Door, Instance};
use crate::faults::Kind;
use crate::oracle::LEAD;
use crate::runbooks::{NAME, document};
use crate::shared::Shared;
use crate::source::by_hand;

/// How long a person waits before they give up on an answer.
const PATIENCE_MS: u64 = 30_000;

/// Versions of the runbook in one world, so that it comes to an end.
const EDITIONS_MAX: u32 = 4;

/// Members that a person adds by hand in one world.
const BY_HAND_MAX: u32 = 6;

/// Everybody who leads batches.
pub struct Leads {
    shared: Arc<Shared>,
    door: Arc<Door>,
    chance: Chance,
    edition: u32,
    /// members that were added by hand
    added: u32,
}

impl Leads {
    /// Nobody has done anything yet.
    #[must_use]
    pub fn new(shared: Arc<Shared>, door: Arc<Door>) -> Self {
        let chance = Chance::of(shared.plan.seed, "leads");
        Self { shared, door, chance, edition: 0, added: 0 }
    }

    /// Begins, and leads until the faults end.
    pub async fn lead(mut self) {
        self.prepare().await;
        self.interfere().await;
    }

    /// Publishes the runbook, lets the scheduler make batches of it, and makes one by hand.
    async fn prepare(&mut self) {
        let plan = &self.shared.plan;
        // Of two batches or more, one is made by hand; a single one by whom the seed says.
        let by_hand = plan.batches > 1 || plan.seed.is_multiple_of(2);
        let from_source = plan.batches > 1 || !by_hand;
        while !self.publish().await {
            self.shared.clock.sleep_ms(1_000).await;
        }
        while from_source && !self.automate().await {
            self.shared.clock.sleep_ms(1_000).await;
        }
        while by_hand && !self.make().await {
            self.shared.clock.sleep_ms(1_000).await;
        }
    }

    async fn interfere(&mut self) {
        while !self.shared.is_over() {
            let nap_ms = self.chance.between(10_000, 120_000);
            self.shared.clock.sleep_ms(nap_ms).await;
            if self.strikes(Kind::RowsChange) {
                self.shared.shelf().change(&mut self.chance);
            }
            if self.strikes(Kind::NewRunbook) && self.edition < EDITIONS_MAX {
                self.publish().await;
            }
            let Some(batch) = self.some_batch() else { continue };
            self.interfere_with(&batch).await;
        }
    }

    async fn interfere_with(&mut self, batch: &Batch) {
        if self.strikes(Kind::BatchAdvance) {
            self.command(batch.id(), BatchCommand::Advance { by: lead() }).await;
        }
        if self.strikes(Kind::BatchOrder) {
            self.order(batch.id()).await;
        }
        if self.strikes(Kind::MembersByHand) {
            self.change_members(batch.id()).await;
        }
        if self.strikes(Kind::BatchMove) {
            let later_ms = self.chance.between(0, 90 * 60_000);
            let now_ms = self.shared.now().as_millis();
            let start = Timestamp::from_millis(now_ms.saturating_add_unsigned(later_ms));
            self.command(batch.id(), BatchCommand::Move { start, by: lead() }).await;
        }
        if self.strikes(Kind::BatchPause) {
            self.command(batch.id(), BatchCommand::Pause { by: lead() }).await;
            let nap_ms = self.chance.between(5_000, 600_000);
            self.shared.clock.sleep_ms(nap_ms).await;
            self.command(batch.id(), BatchCommand::Resume { by: lead() }).await;
        }
        if self.strikes(Kind::BatchCancel) {
            self.command(batch.id(), BatchCommand::Cancel { by: lead() }).await;
        }
    }

    /// Lets go of whatever waits for a person, so that it can end; a batch may stay as it is.
    pub async fn release(&mut self) {
        let open = self.shared.oracle().open_batches();
        for (place, batch) in open.into_iter().enumerate() {
            if batch.paused {
                self.command(batch.id(), BatchCommand::Resume { by: lead() }).await;
            }
            let stays = self.shared.plan.leaves_some_waiting && place == 0;
            if batch.header.mode == BatchMode::Manual && !stays {
                self.command(batch.id(), BatchCommand::Advance { by: lead() }).await;
            }
        }
    }

    async fn order(&mut self, batch: BatchId) {
        let operations = [
            BatchOperation::Retry,
            BatchOperation::Retry,
            BatchOperation::Skip,
            BatchOperation::MarkDone { result: json!({ "id": "marked" }) },
            BatchOperation::Rollback,
            BatchOperation::Cancel,
            BatchOperation::Remove,
        ];
        let operation = self.chance.one_of(&operations).clone();
        // Most orders are for those who failed; a few are for one member, or for all.
        let mut filter = OrderFilter::default();
        match self.chance.below(4) {
            0 => {}
            1 => filter.keys = vec![format!("m{}", self.chance.between(1, 6))],
            _ => filter.member_statuses = vec![stepwell_store::MemberStatus::Failed],
        }
        let limit = self.chance.permille(500).then_some(1);
        let order = BatchOrder { operation, filter, by: lead(), dry_run: false, limit };
        let Some(instance) = self.door.any(&mut self.chance) else { return };
        let answer = self.patiently(&instance, instance.engine.operate_batch(batch, &order)).await;
        if let Some(Ok(results)) = answer {
            let done = results.len();
            self.shared.note(LEAD, format_args!("{:?} for {done} items", order.operation));
        }
    }

    async fn change_members(&mut self, batch: BatchId) {
        let Some(instance) = self.door.any(&mut self.chance) else { return };
        if self.chance.permille(600) && self.added < BY_HAND_MAX {
            self.added += 1;
            let members = vec![by_hand(&format!("h{}", self.added))];
            let _ =
                self.patiently(&instance, instance.engine.add_members(batch, members, LEAD)).await;
        } else if let Some(member) = self.some_member(batch) {
            let _ =
                self.patiently(&instance, instance.engine.remove_member(batch, member, LEAD)).await;
        }
    }

    fn some_member(&mut self, batch: BatchId) -> Option<stepwell_core::id::MemberId> {
        let members = self.shared.oracle().members_of(batch);
        (!members.is_empty()).then(|| *self.chance.one_of(&members))
    }

    fn some_batch(&mut self) -> Option<Batch> {
        let open = self.shared.oracle().open_batches();
        (!open.is_empty()).then(|| self.chance.one_of(&open).clone())
    }

    async fn publish(&mut self) -> bool {
        let Some(instance) = self.door.newest() else { return false };
        let edition = self.edition + 1;
        let source = document(self.shared.plan.seed, edition);
        let again = self.chance.permille(400);
        let body = json!({
            "name": NAME,
            "yaml_content": source,
            "overdue_behavior": if again { "rerun" } else { "ignore" },
            "rerun_init": self.chance.permille(300),
        });
        let body = publication(body.to_string().as_bytes());
        let body = body.unwrap_or_else(|problems| {
            panic!("a drawn runbook is sound: {problems:?}\n{source}");
        });
        let answer = self.patiently(&instance, instance.engine.publish_runbook(body, LEAD)).await;
        let Some(Ok(published)) = answer else { return false };
        self.edition = edition;
        self.shared.note(LEAD, format_args!("{NAME} v{}", published.document.version));
        true
    }

    async fn automate(&mut self) -> bool {
        let Some(instance) = self.door.newest() else { return false };
        let answer = instance.engine.set_automation(NAME, true, LEAD);
        matches!(self.patiently(&instance, answer).await, Some(Ok(_)))
    }

    async fn make(&mut self) -> bool {
        let Some(instance) = self.door.newest() else { return false };
        let count = self.chance.between(1, 4);
        let members = (1..=count).map(|number| by_hand(&format!("m{number}"))).collect();
        let answer = instance.engine.create_batch(NAME, members, LEAD);
        matches!(self.patiently(&instance, answer).await, Some(Ok(_)))
    }

    async fn command(&mut self, batch: BatchId, command: BatchCommand) {
        let Some(instance) = self.door.any(&mut self.chance) else { return };
        let words = format!("{command:?}");
        let word = words.split_whitespace().next().unwrap_or_default().to_owned();
        let answer = instance.engine.command_batch(batch, command);
        let came = match self.patiently(&instance, answer).await {
            Some(Ok(batch)) => format!("{} v{}", batch.status.word(), batch.version),
            Some(Err(error)) => error.to_string(),
            None => "no answer".to_owned(),
        };
        self.shared.note(LEAD, format_args!("{word} of batch {batch}: {came}"));
    }

    /// Waits for an answer, but not for ever: an instance may stand still.
    async fn patiently<T>(
        &self,
        instance: &Instance,
        answer: impl Future<Output = Result<T, BatchError>>,
    ) -> Option<Result<T, BatchError>> {
        let answer = tokio::select! {
            biased;
            answer = answer => answer,
            () = self.shared.clock.sleep_ms(PATIENCE_MS) => return None,
        };
        (!self.shared.strikes(Kind::AnswerLost, &instance.life)).then_some(answer)
    }

    fn strikes(&self, kind: Kind) -> bool {
        self.shared.strikes(kind, LEAD)
    }
}

fn lead() -> Act {
    Act::new(LEAD, "because")
}
