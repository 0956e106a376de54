//! Words between instances: LISTEN and NOTIFY, one channel for all and one for each instance.
//!
//! A word may be lost, doubled or late; what counts stands in the tables. So nobody waits for a word to
//! be sent, and whoever listens looks at everything again after the connection was gone.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, watch};
use tokio_postgres::{AsyncMessage, Error};

use super::connection::{Connection, Opener};
use super::pool::Pool;
use crate::error::StoreError;
use crate::model::{Epoch, Signal};

pub(super) const NOTIFY: &str = include_str!("../../sql/postgres/notify.sql");

/// PostgreSQL takes payloads below 8,000 bytes.
const PAYLOAD_BYTES_MAX: usize = 7_900;

/// Words that may wait for an instance; when it is further behind, it looks at everything instead.
const SIGNALS_MAX: usize = 1_024;

/// Words that may wait to be sent; further ones are lost, as words may be.
const WORDS_MAX: usize = 4_096;

/// How many words one statement sends.
const WORDS_EACH: usize = 256;

/// How long to wait before the next try to listen, and at most.
const BACKOFF: Duration = Duration::from_millis(50);
const BACKOFF_MAX: Duration = Duration::from_secs(5);

/// Something to say to other instances.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    /// `None`: to all
    to: Option<Epoch>,
    spoken: Spoken,
}

/// A word as it travels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Spoken {
    /// who says it, and need not hear it; `None`: everybody should
    from: Option<Epoch>,
    signal: Signal,
}

impl Word {
    /// A word to one instance, which hears it even from itself.
    pub(super) fn to(to: Epoch, from: Epoch, signal: Signal) -> Self {
        let from = (to != from).then_some(from);
        Self { to: Some(to), spoken: Spoken { from, signal } }
    }

    /// A word to all but the speaker.
    pub(super) fn to_all(from: Option<Epoch>, signal: Signal) -> Self {
        Self { to: None, spoken: Spoken { from, signal } }
    }

    fn channel(&self, schema: &str) -> String {
        self.to.map_or_else(|| channel_of_all(schema), |to| channel_of(schema, to))
    }

    /// The word as it is sent. An answer too long for that is sent without its text: whoever waits
    /// looks for itself.
    fn payload(mut self) -> String {
        let payload = crate::rows::text(&self.spoken);
        if payload.len() <= PAYLOAD_BYTES_MAX {
            return payload;
        }
        if let Signal::Answered { body, .. } = &mut self.spoken.signal {
            body.clear();
        } else {
            self.spoken.signal = Signal::LookAgain;
        }
        crate::rows::text(&self.spoken)
    }
}

fn channel_of_all(schema: &str) -> String {
    format!("{schema}_all")
}

fn channel_of(schema: &str, epoch: Epoch) -> String {
    format!("{schema}_{}", epoch.0)
}

/// Says words, many with one statement.
pub(super) async fn say(
    connection: &mut Connection,
    schema: &str,
    words: Vec<Word>,
) -> Result<(), StoreError> {
    let channels: Vec<String> = words.iter().map(|word| word.channel(schema)).collect();
    let payloads: Vec<String> = words.into_iter().map(Word::payload).collect();
    connection.query(NOTIFY, &[&channels, &payloads]).await?;
    Ok(())
}

/// Says words that nobody waits for, in a task of its own.
///
/// Not in the transaction that they follow: PostgreSQL lets only one transaction with a word commit at a
/// time, and commits of all instances would queue for the disk one by one. Here the lock is held for a
/// moment, without any flush.
pub(super) struct Teller {
    words: mpsc::Sender<Word>,
}

impl Teller {
    pub(super) fn start(pool: Arc<Pool>, schema: String) -> Self {
        let (words, mut waiting) = mpsc::channel(WORDS_MAX);
        tokio::spawn(async move {
            let mut batch = Vec::new();
            while waiting.recv_many(&mut batch, WORDS_EACH).await > 0 {
                let spoken = async {
                    let mut connection = pool.lend().await?;
                    say(&mut connection, &schema, std::mem::take(&mut batch)).await?;
                    connection.done(Ok::<_, StoreError>(()))
                };
                if let Err(error) = spoken.await {
                    tracing::debug!(%error, "words_lost");
                }
                batch.clear();
            }
        });
        Self { words }
    }

    /// Says words soon.
    pub(super) fn tell(&self, words: impl IntoIterator<Item = Word>) {
        for word in words {
            // A full channel loses the word.
            let _ = self.words.try_send(word);
        }
    }
}

/// Listens for an instance until the receiver is dropped or the store is closed, on a connection of its
/// own.
pub(super) async fn listen(
    opener: Arc<Opener>,
    epoch: Epoch,
    mut closed: watch::Receiver<bool>,
) -> Result<mpsc::Receiver<Signal>, StoreError> {
    if *closed.borrow() {
        return Err(super::pool::closed());
    }
    let (ear, signals) = mpsc::channel(SIGNALS_MAX);
    let first = Listening::start(&opener, epoch).await;
    let first = first.map_err(|cause| super::error::no_connection(&opener.place.shown(), cause))?;
    tokio::spawn(async move {
        tokio::select! {
            // Closed, or dropped.
            _ = closed.wait_for(|closed| *closed) => {}
            () = ear.closed() => {}
            never = listen_for_ever(&opener, epoch, first, &ear) => match never {},
        }
    });
    Ok(signals)
}

/// A connection that listens.
struct Listening {
    words: mpsc::UnboundedReceiver<Spoken>,
    /// held, because the connection ends with it
    _client: tokio_postgres::Client,
}

impl Listening {
    async fn start(opener: &Opener, epoch: Epoch) -> Result<Self, Error> {
        let (client, mut driver) = opener.place.config.connect(opener.tls.clone()).await?;
        let (heard, words) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Some(Ok(message)) = std::future::poll_fn(|cx| driver.poll_message(cx)).await {
                if let AsyncMessage::Notification(notification) = message
                    && let Ok(spoken) = serde_json::from_str(notification.payload())
                {
                    // Nobody listens any more: the connection ends with its client.
                    let _ = heard.send(spoken);
                }
            }
        });
        let schema = &opener.place.schema;
        let (all, mine) = (channel_of_all(schema), channel_of(schema, epoch));
        let limit = opener.options.statement_timeout.as_millis();
        let asked = format!("SET statement_timeout = {limit}; LISTEN {all}; LISTEN {mine}");
        client.batch_execute(&asked).await?;
        Ok(Self { words, _client: client })
    }
}

async fn listen_for_ever(
    opener: &Opener,
    epoch: Epoch,
    first: Listening,
    ear: &mpsc::Sender<Signal>,
) -> Infallible {
    let mut listening = first;
    loop {
        match listening.words.recv().await {
            Some(spoken) if spoken.from == Some(epoch) => {}
            Some(spoken) => pass_on(ear, spoken.signal),
            None => {
                listening = listen_again(opener, epoch).await;
                pass_on(ear, Signal::LookAgain);
            }
        }
    }
}

/// Connects again, more and more patiently.
async fn listen_again(opener: &Opener, epoch: Epoch) -> Listening {
    let mut rest = BACKOFF;
    loop {
        tokio::time::sleep(rest).await;
        match Listening::start(opener, epoch).await {
            Ok(listening) => return listening,
            Err(error) => tracing::debug!(%error, "not_listening"),
        }
        rest = (rest * 2).min(BACKOFF_MAX);
    }
}

/// Passes a word on. An instance that is far behind has no use for one more.
fn pass_on(ear: &mpsc::Sender<Signal>, signal: Signal) {
    if ear.capacity() == 1 {
        let _ = ear.try_send(Signal::LookAgain);
    } else {
        let _ = ear.try_send(signal);
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn an_answer_too_long_for_a_word_is_sent_without_its_text() {
        let (input, body) = (Uuid::from_u128(7), "x".repeat(9_000));
        let long = Word::to(Epoch(3), Epoch(4), Signal::Answered { input, body });
        let payload = long.payload();
        assert!(payload.len() < 8_000);
        let heard: Spoken = serde_json::from_str(&payload).expect("our own words");
        let signal = Signal::Answered { input, body: String::new() };
        assert_eq!(heard, Spoken { from: Some(Epoch(4)), signal });
    }
}
