//! Takes orders from the queue and makes runs of them, each exactly once (B-049).
//!
//! Each order is settled once, after the commit that made its run: complete, give back, or give up
//! with a reason. If the instance dies in between, the order is handed out again, and the key
//! finds the run that it has already become.

use std::sync::Arc;

use stepwell_core::duration::Interval;
use stepwell_core::id::Tenant;
use stepwell_core::run::Dialect;
use stepwell_core::time::Timestamp;
use stepwell_dialects::platform::{self, Delivery, Rejection, queue};
use stepwell_store::{
    Disposition, Key, NewDeadLetter, NewSubmission, Received, Submission, SubmissionSettlement,
};

use crate::error::EngineError;
use crate::intake::{Answered, Ask, Intake, Reply, Start};
use crate::shared::{Shared, stopped};
use crate::tell::Whose;

/// Orders taken at once.
const PAGE: usize = 64;

/// How often to look without a word, in case one was lost.
const PERIOD: Interval = Interval::from_secs(30);

/// The rest of an order that could not become a run, and of us when the store is away.
const REST: Interval = Interval::from_secs(1);

/// Takes orders until the engine stops.
pub(crate) async fn submissions(shared: Arc<Shared>, intake: Intake) {
    if !shared.settings.ownership.decides {
        return;
    }
    let mut stopping = shared.stopping.subscribe();
    loop {
        let look_again_at = take_all(&shared, &intake).await;
        tokio::select! {
            biased;
            () = stopped(&mut stopping) => return,
            () = shared.submissions.notified() => {}
            () = shared.clock.sleep_until_ms(look_again_at.as_millis()) => {}
        }
    }
}

/// Takes whatever waits; answers when to look again.
async fn take_all(shared: &Shared, intake: &Intake) -> Timestamp {
    loop {
        let now = shared.now();
        if !shared.may_decide() {
            return now.after(REST);
        }
        let name = shared.settings.job_queue.clone();
        // What a dead instance had taken must not rest longer than what it owned.
        let keep = queue::LOCK.min(shared.settings.ownership.silence);
        let Received { messages, next } = match shared.store.receive(name, now, keep, PAGE).await {
            Ok(received) => received,
            Err(error) => {
                tracing::warn!(%error, "orders_not_taken");
                shared.stats.failed();
                return now.after(REST);
            }
        };
        if messages.is_empty() {
            return next.unwrap_or_else(|| now.after(PERIOD)).min(now.after(PERIOD));
        }
        let settlements = make_runs(shared, intake, messages).await;
        let told = settlements.iter().any(is_told);
        if let Err(error) = shared.store.settle_submissions(settlements).await {
            // They are handed out again, and find the runs that they have become.
            tracing::warn!(%error, "orders_not_settled");
            shared.stats.failed();
            return now.after(REST);
        }
        if told {
            shared.outbox.notify_one();
        }
    }
}

async fn make_runs(
    shared: &Shared,
    intake: &Intake,
    orders: Vec<Submission>,
) -> Vec<SubmissionSettlement> {
    let now = shared.now();
    let mut asks = Vec::with_capacity(orders.len());
    let mut settlements = Vec::with_capacity(orders.len());
    let mut asked = Vec::with_capacity(orders.len());
    for order in orders {
        match start(shared, &order, now).await {
            Ok(start) => {
                asks.push(Ask::Start(Box::new(start)));
                asked.push(order);
            }
            Err(settled) => settlements.push(settle(&order, settled)),
        }
    }
    let answers = intake.ask_patiently(asks).await;
    match answers {
        Ok(answers) => {
            let answered = asked.iter().zip(answers);
            settlements
                .extend(answered.map(|(order, it)| settle(order, became(shared, order, it))));
        }
        Err(_) => settlements.extend(asked.iter().map(|order| settle(order, put_back(now)))),
    }
    settlements
}

/// The run that an order asks for, or how its delivery ends without one.
async fn start(shared: &Shared, order: &Submission, now: Timestamp) -> Result<Start, Disposition> {
    let delivery = Delivery {
        message_id: &order.message.message_id,
        received_at: now,
        expires_at: order.message.expires_at,
        deliveries: order.deliveries,
    };
    let read = platform::order(&order.message.body, &delivery);
    let wanted = read.map_err(|rejection| give_up(shared, order, &rejection, now))?;
    let compiled = match shared.catalog.newest(wanted.workflow_id()).await {
        Ok(Some(compiled)) => compiled,
        Ok(None) => return Err(give_up(shared, order, &wanted.workflow_not_found(), now)),
        Err(error) => {
            tracing::warn!(%error, message_id = %order.message.message_id, "order_put_back");
            shared.stats.failed();
            return Err(put_back(now));
        }
    };
    let run = stepwell_core::id::RunId(shared.fresh_id());
    let (header, key) = wanted
        .header(run, &compiled.workflow, &compiled.checks, now)
        .map_err(|rejection| give_up(shared, order, &rejection, now))?;
    Ok(Start {
        header: Arc::new(header),
        carried: Vec::new(),
        key: Some(Key { hash: key.hash, request_hash: key.request_hash }),
        tenant_cap: None,
    })
}

/// How the delivery of an order ends, by what came of its run.
fn became(shared: &Shared, order: &Submission, answer: Answered) -> Disposition {
    match answer {
        Ok(Reply::Started(_)) => {
            shared.stats.claimed(1);
            Disposition::Complete
        }
        Ok(Reply::Repeated(run)) | Err(EngineError::KeyReused { run }) => {
            let message_id = &order.message.message_id;
            tracing::info!(%run, %message_id, "order_repeated: its job exists");
            Disposition::Complete
        }
        Ok(Reply::Applied(_) | Reply::Stored(_)) => Disposition::Complete,
        Err(error) => {
            tracing::warn!(%error, message_id = %order.message.message_id, "order_put_back");
            shared.stats.failed();
            if order.deliveries >= queue::DELIVERIES_MAX {
                let rejection = Rejection::delivery_limit(order.deliveries, &error.to_string());
                return give_up(shared, order, &rejection, shared.now());
            }
            put_back(shared.now())
        }
    }
}

/// Whether somebody waits for word of it.
fn is_told(settlement: &SubmissionSettlement) -> bool {
    match &settlement.disposition {
        Disposition::DeadLetter { given_up, .. } => !given_up.told.messages.is_empty(),
        Disposition::Complete | Disposition::Abandon { .. } => false,
    }
}

fn settle(order: &Submission, disposition: Disposition) -> SubmissionSettlement {
    SubmissionSettlement { id: order.id, deliveries: order.deliveries, disposition }
}

fn put_back(now: Timestamp) -> Disposition {
    Disposition::Abandon { until: now.after(REST) }
}

fn give_up(
    shared: &Shared,
    order: &Submission,
    rejection: &Rejection,
    now: Timestamp,
) -> Disposition {
    tracing::warn!(message_id = %order.message.message_id, reason = rejection.reason, "order_given_up");
    let letter = NewDeadLetter {
        first_error: None,
        reason: rejection.reason.to_owned(),
        step: None,
        error: rejection.error(),
        at: now,
    };
    let (tenant, dialect) = (Tenant::default_tenant(), Dialect::Platform);
    let given_up = shared.give_up(&Whose::order(order, &tenant, dialect), letter);
    Disposition::DeadLetter { tenant, dialect, given_up }
}

impl Shared {
    /// Puts orders in their queues, and has them looked at.
    pub(crate) async fn submit(
        &self,
        orders: Vec<NewSubmission>,
    ) -> Result<Vec<bool>, EngineError> {
        let taken_in = self.store.submit(orders).await?;
        self.submissions.notify_one();
        Ok(taken_in)
    }
}
