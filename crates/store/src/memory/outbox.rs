//! Messages to the outside, on plain maps.

use stepwell_core::duration::Interval;
use stepwell_core::time::Timestamp;

use super::Tables;
use crate::model::{NewMessage, Origin, OutboxMessage, OutboxSettlement, Outgoing};

impl Tables {
    /// Promises messages to the outside.
    pub(super) fn promise(&mut self, origin: &Origin, messages: Vec<NewMessage>) {
        for message in messages {
            self.outbox_ever += 1;
            let promised = OutboxMessage {
                id: self.outbox_ever,
                run: origin.run,
                tenant: origin.tenant.clone(),
                dialect: origin.dialect,
                tries: 0,
                message,
            };
            self.outbox.insert(promised.id, promised);
        }
    }

    /// Messages that are due, kept from other instances for a while.
    pub(super) fn outgoing(&mut self, now: Timestamp, keep: Interval, limit: usize) -> Outgoing {
        let at = |message: &OutboxMessage| {
            let kept_until = self.outbox_kept.get(&message.id).copied();
            kept_until.map_or(message.message.due_at, |kept| kept.max(message.message.due_at))
        };
        let due = self.outbox.values().filter(|message| at(message) <= now);
        let next = self.outbox.values().map(at).filter(|at| *at > now).min();
        let mut due: Vec<OutboxMessage> = due.cloned().collect();
        due.sort_by_key(|message| (message.message.due_at, message.id));
        due.truncate(limit);
        if self.sharing.is_some() {
            let kept = due.iter().map(|message| (message.id, now.after(keep)));
            self.outbox_kept.extend(kept);
        }
        Outgoing { due, next }
    }

    /// Strikes a message off, puts it off, or gives it up. One that is gone already is passed over.
    pub(super) fn settle_message(&mut self, settlement: OutboxSettlement) {
        let (OutboxSettlement::Sent { id }
        | OutboxSettlement::PutOff { id, .. }
        | OutboxSettlement::GivenUp { id, .. }) = &settlement;
        self.outbox_kept.remove(id);
        match settlement {
            OutboxSettlement::Sent { id } => {
                self.outbox.remove(&id);
            }
            OutboxSettlement::PutOff { id, due_at } => {
                if let Some(message) = self.outbox.get_mut(&id) {
                    message.tries += 1;
                    message.message.due_at = due_at;
                }
            }
            OutboxSettlement::GivenUp { id, given_up } => {
                if let Some(message) = self.outbox.remove(&id) {
                    let origin = self.origin_of(message);
                    self.give_up(origin, *given_up);
                }
            }
        }
    }

    /// Whose work it is that is given up with a message. Without a run, the letter keeps what it said.
    fn origin_of(&self, message: OutboxMessage) -> Origin {
        let of_run = message.run.and_then(|run| self.origin(run));
        of_run.unwrap_or(Origin {
            run: None,
            message: Some(message.message.body),
            tenant: message.tenant,
            dialect: message.dialect,
            workflow: String::new(),
        })
    }
}
