//! What others are told: of decisions, and of whatever is given up. Events for the log, and messages to
//! whoever has subscribed.

use stepwell_core::entry::Entry;
use stepwell_core::id::{RunId, Tenant};
use stepwell_core::run::{Dialect, Run};
use stepwell_core::time::Timestamp;
use stepwell_dialects::event::{self, Event};
use stepwell_store::{
    GivenUp, NewDeadLetter, NewEvent, NewMessage, OutboxMessage, Submission, Subscription, Told,
};

use crate::outside::{self, SUBSCRIBED};
use crate::shared::Shared;

/// The reason of dead letters that stand for a message that nobody took.
pub(crate) const UNDELIVERED: &str = "webhook_undelivered";

/// Whose work it is that is given up.
#[derive(Debug)]
pub(crate) struct Whose<'a> {
    pub(crate) tenant: &'a Tenant,
    pub(crate) dialect: Dialect,
    pub(crate) run: Option<RunId>,
    /// what makes it the same event however often it is told
    key: String,
    audience: Audience<'a>,
}

/// Who is told, of those who have subscribed.
#[derive(Clone, Copy, Debug)]
enum Audience<'a> {
    All,
    AllBut(&'a str),
    Nobody,
}

impl<'a> Whose<'a> {
    /// A run that failed.
    pub(crate) fn run(run: &'a Run) -> Self {
        Self {
            tenant: &run.header.tenant,
            dialect: run.header.dialect,
            run: Some(run.id()),
            key: format!("{}:{}", run.id(), run.version),
            audience: Audience::All,
        }
    }

    /// A message that nobody took.
    ///
    /// An address that is down must not be fed by its own failures, nor two of them by each other's. So it
    /// is told to every other address, once: not to the one that did not take it, and if the message itself
    /// told of one that was not delivered, to nobody. A letter about a letter about a message is the last.
    /// The log has them all.
    pub(crate) fn message(message: &'a OutboxMessage) -> Self {
        let NewMessage { destination, body, .. } = &message.message;
        let audience = match event::dead_letter_reason(body).as_deref() {
            Some(UNDELIVERED) => Audience::Nobody,
            Some(_) | None => Audience::AllBut(destination),
        };
        Self {
            tenant: &message.tenant,
            dialect: message.dialect,
            run: message.run,
            key: outside::message_id(message.id),
            audience,
        }
    }

    /// An order or a message that nobody can follow. It names its tenant in a way that nobody has checked,
    /// if it names one at all, so it is the default tenant's.
    pub(crate) fn order(order: &Submission, tenant: &'a Tenant, dialect: Dialect) -> Self {
        let key = format!("{}:{}", order.message.queue, order.id);
        Self { tenant, dialect, run: None, key, audience: Audience::All }
    }
}

impl Shared {
    /// What others are told of a decision: `entries` made `run` out of `before`.
    pub(crate) fn told_of(&self, before: &Run, entries: &[Entry], run: &Run) -> Told {
        let whose = Whose::run(run);
        self.tell(&whose, run.updated_at, || event::events(before, entries, run))
    }

    /// Work that is given up, with what others are told of it.
    pub(crate) fn give_up(&self, whose: &Whose<'_>, letter: NewDeadLetter) -> Box<GivenUp> {
        let created = || {
            vec![event::dead_letter_created(&event::DeadLetter {
                key: &whose.key,
                tenant: whose.tenant,
                dialect: whose.dialect,
                run: whose.run,
                reason: &letter.reason,
                error: &letter.error,
                at: letter.at,
            })]
        };
        let told = self.tell(whose, letter.at, created);
        Box::new(GivenUp { letter, told })
    }

    /// Nothing is made that nobody asks for.
    fn tell(&self, whose: &Whose<'_>, at: Timestamp, events: impl FnOnce() -> Vec<Event>) -> Told {
        let logged = self.settings.events.dialects.contains(&whose.dialect);
        let subscriptions = self.subscriptions.current();
        let listening: Vec<&Subscription> =
            subscriptions.iter().filter(|it| listens_to(it, whose)).collect();
        let mut told = Told::default();
        if !logged && listening.is_empty() {
            return told;
        }
        for event in events() {
            let wanting = listening.iter().filter(|it| wants(it, event.kind));
            let body = event.body.to_string();
            let messages = told.messages.len();
            told.messages.extend(wanting.map(|subscription| NewMessage {
                kind: format!("{SUBSCRIBED}{}", subscription.id),
                destination: subscription.url.clone(),
                body: body.clone(),
                due_at: at,
            }));
            if logged || told.messages.len() > messages {
                told.events.push(NewEvent {
                    tenant: whose.tenant.clone(),
                    dialect: whose.dialect,
                    run: whose.run,
                    kind: event.kind.to_owned(),
                    body,
                    at,
                });
            }
        }
        told
    }
}

fn listens_to(subscription: &Subscription, whose: &Whose<'_>) -> bool {
    let is_told = match whose.audience {
        Audience::All => true,
        Audience::AllBut(address) => subscription.url != address,
        Audience::Nobody => false,
    };
    is_told
        && subscription.enabled
        && subscription.tenant.as_ref().is_none_or(|it| it == whose.tenant)
        && (subscription.dialects.is_empty() || subscription.dialects.contains(&whose.dialect))
}

fn wants(subscription: &Subscription, kind: &str) -> bool {
    subscription.kinds.is_empty() || subscription.kinds.iter().any(|it| it == kind)
}
