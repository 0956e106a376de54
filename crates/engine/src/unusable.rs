//! Messages that nobody can use: kept as dead letters, for a person.
//!
//! They go through a queue of their own, so that one that was accepted is not lost if the process ends
//! before its dead letter is written: whoever comes next settles it.

use sha2::{Digest, Sha256};
use stepwell_core::duration::Interval;
use stepwell_core::id::Tenant;
use stepwell_core::run::Dialect;
use stepwell_core::time::Timestamp;
use stepwell_store::{
    DeadLetter, DeadLetterFilter, Disposition, NewDeadLetter, NewSubmission, Submission,
    SubmissionSettlement,
};

use crate::error::EngineError;
use crate::shared::Shared;
use crate::tell::Whose;

/// How long one that was taken is kept from others.
const KEEP: Interval = Interval::from_secs(60);

/// How many are settled at once.
const SETTLED_MAX: usize = 16;

/// Among how many open letters of its reason a repetition is looked for.
const LOOKED_AT: usize = 200;

/// A message that nobody can use.
#[derive(Clone, Debug)]
pub struct Unusable<'a> {
    /// the queue of such messages, on their way to their dead letters
    pub queue: &'a str,
    /// by whose door it came
    pub dialect: Dialect,
    /// what it is about, in a word: stands where other letters name their workflow
    pub about: &'a str,
    /// what it said
    pub body: &'a [u8],
    /// how long it is kept if nobody settles it
    pub keep: Interval,
}

impl Shared {
    /// Keeps a message as a dead letter, once for as long as the letter is open: whoever is refused may
    /// well hand in the same message again and again.
    ///
    /// `why` says what is wrong with a message of this queue; another request may have brought it.
    pub(crate) async fn keep_unusable(
        &self,
        message: &Unusable<'_>,
        why: fn(&Submission, Timestamp) -> Option<NewDeadLetter>,
    ) -> Result<(), EngineError> {
        let now = self.now();
        let queue = message.queue.to_owned();
        self.store.submit(vec![submission(message, now)]).await?;
        let waiting = self.store.receive(queue, now, KEEP, SETTLED_MAX).await?.messages;
        let mut settlements = Vec::with_capacity(waiting.len());
        for waiting in waiting {
            let Some(letter) = why(&waiting, now) else { continue };
            let disposition = self.disposition(&waiting, message.dialect, letter).await?;
            let Submission { id, deliveries, .. } = waiting;
            settlements.push(SubmissionSettlement { id, deliveries, disposition });
        }
        self.store.settle_submissions(settlements).await?;
        self.outbox.notify_one();
        Ok(())
    }

    /// What becomes of a message that waits.
    ///
    /// Equal messages have equal ids, so one of them waits at a time: the letter of one that waited before
    /// was written when it went, and is seen here.
    async fn disposition(
        &self,
        waiting: &Submission,
        dialect: Dialect,
        letter: NewDeadLetter,
    ) -> Result<Disposition, EngineError> {
        let open = self.store.dead_letters(DeadLetterFilter {
            dialect: Some(dialect),
            reason: Some(letter.reason.clone()),
            limit: LOOKED_AT,
            ..DeadLetterFilter::default()
        });
        let NewSubmission { workflow, body, .. } = &waiting.message;
        let is_same =
            |it: &DeadLetter| it.workflow == *workflow && it.message.as_ref() == Some(body);
        if open.await?.iter().any(is_same) {
            return Ok(Disposition::Complete);
        }
        let tenant = Tenant::default_tenant();
        let given_up = self.give_up(&Whose::order(waiting, &tenant, dialect), letter);
        Ok(Disposition::DeadLetter { tenant, dialect, given_up })
    }
}

fn submission(message: &Unusable<'_>, now: Timestamp) -> NewSubmission {
    let body = String::from_utf8_lossy(message.body).into_owned();
    let digest = Sha256::digest(format!("{}\n{body}", message.about));
    NewSubmission {
        queue: message.queue.to_owned(),
        message_id: digest.iter().map(|byte| format!("{byte:02x}")).collect(),
        workflow: message.about.to_owned(),
        priority: 0,
        body,
        enqueued_at: now,
        expires_at: now.after(message.keep),
    }
}
