//! What others are told of a decision: events for the log, and messages to whoever has subscribed.

use stepwell_core::entry::Entry;
use stepwell_core::run::Run;
use stepwell_dialects::event::{self, Event};
use stepwell_store::{NewDeadLetter, NewEvent, NewMessage, Subscription};

use crate::shared::Shared;

/// What others are told, to be stored with the decision.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) events: Vec<NewEvent>,
    pub(crate) messages: Vec<NewMessage>,
}

impl Shared {
    /// What others are told of a decision: `entries` made `run` out of `before`. Nothing is made that
    /// nobody asks for.
    pub(crate) fn told_of(
        &self,
        before: &Run,
        entries: &[Entry],
        run: &Run,
        letter: Option<&NewDeadLetter>,
    ) -> Told {
        let header = &run.header;
        let logged = self.settings.events.dialects.contains(&header.dialect);
        let subscriptions = self.subscriptions.current();
        let listening: Vec<&Subscription> =
            subscriptions.iter().filter(|it| listens_to(it, run)).collect();
        let mut told = Told::default();
        if !logged && listening.is_empty() {
            return told;
        }
        let given_up = letter.map(|letter| given_up(run, letter));
        for event in event::events(before, entries, run).into_iter().chain(given_up) {
            let wanting = listening.iter().filter(|it| wants(it, event.kind));
            let body = event.body.to_string();
            let messages = told.messages.len();
            told.messages.extend(wanting.map(|subscription| NewMessage {
                kind: "webhook".to_owned(),
                destination: subscription.url.clone(),
                body: body.clone(),
                due_at: run.updated_at,
            }));
            if logged || told.messages.len() > messages {
                told.events.push(logged_event(run, &event, body));
            }
        }
        told
    }
}

fn listens_to(subscription: &Subscription, run: &Run) -> bool {
    let (tenant, dialect) = (&run.header.tenant, run.header.dialect);
    subscription.enabled
        && subscription.tenant.as_ref().is_none_or(|it| it == tenant)
        && (subscription.dialects.is_empty() || subscription.dialects.contains(&dialect))
}

fn wants(subscription: &Subscription, kind: &str) -> bool {
    subscription.kinds.is_empty() || subscription.kinds.iter().any(|it| it == kind)
}

fn logged_event(run: &Run, event: &Event, body: String) -> NewEvent {
    NewEvent {
        tenant: run.header.tenant.clone(),
        dialect: run.header.dialect,
        run: Some(run.id()),
        kind: event.kind.to_owned(),
        body,
        at: run.updated_at,
    }
}

fn given_up(run: &Run, letter: &NewDeadLetter) -> Event {
    event::dead_letter_created(&event::DeadLetter {
        key: &format!("{}:{}", run.id(), run.version),
        tenant: &run.header.tenant,
        dialect: run.header.dialect,
        run: Some(run.id()),
        reason: &letter.reason,
        error: &letter.error,
        at: letter.at,
    })
}
