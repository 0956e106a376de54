//! Orders that wait in a queue, on plain maps.

use stepwell_core::duration::Interval;
use stepwell_core::time::Timestamp;

use super::Tables;
use crate::model::*;

/// An order that waits, or is in somebody's hands.
#[derive(Debug)]
pub(super) struct Waiting {
    message: NewSubmission,
    deliveries: u32,
    locked_until: Timestamp,
}

impl Tables {
    pub(super) fn submit(&mut self, submissions: Vec<NewSubmission>) -> Vec<bool> {
        let mut taken_in = Vec::with_capacity(submissions.len());
        for message in submissions {
            let known = self.submissions.values().any(|waiting| {
                waiting.message.queue == message.queue
                    && waiting.message.message_id == message.message_id
            });
            taken_in.push(!known);
            if known {
                continue;
            }
            let signal = Signal::Submitted { queue: message.queue.clone() };
            self.submissions_ever += 1;
            let locked_until = Timestamp::from_millis(0);
            let waiting = Waiting { message, deliveries: 0, locked_until };
            self.submissions.insert(self.submissions_ever, waiting);
            self.tell(None, &signal);
        }
        taken_in
    }

    pub(super) fn receive(
        &mut self,
        queue: &str,
        now: Timestamp,
        keep: Interval,
        limit: usize,
    ) -> Received {
        let of_queue = |waiting: &Waiting| waiting.message.queue == queue;
        let mut free: Vec<(Timestamp, i64)> = self
            .submissions
            .iter()
            .filter(|(_, waiting)| of_queue(waiting) && waiting.locked_until <= now)
            .map(|(id, waiting)| (waiting.message.place(), *id))
            .collect();
        free.sort_unstable();
        free.truncate(limit);
        let mut messages = Vec::with_capacity(free.len());
        for (_, id) in free {
            let Some(waiting) = self.submissions.get_mut(&id) else { continue };
            waiting.deliveries += 1;
            waiting.locked_until = now.after(keep);
            let (deliveries, message) = (waiting.deliveries, waiting.message.clone());
            messages.push(Submission { id, deliveries, message });
        }
        let locked = self.submissions.values().filter(|waiting| of_queue(waiting));
        let next = locked.map(|waiting| waiting.locked_until).filter(|until| *until > now).min();
        Received { messages, next }
    }

    pub(super) fn settle_submissions(&mut self, settlements: Vec<SubmissionSettlement>) {
        for SubmissionSettlement { id, deliveries, disposition } in settlements {
            let current = self.submissions.get_mut(&id);
            let Some(waiting) = current.filter(|waiting| waiting.deliveries == deliveries) else {
                continue;
            };
            match disposition {
                Disposition::Abandon { until } => waiting.locked_until = until,
                Disposition::Complete => drop(self.submissions.remove(&id)),
                Disposition::DeadLetter { tenant, dialect, given_up } => {
                    let NewSubmission { workflow, body, .. } = waiting.message.clone();
                    self.submissions.remove(&id);
                    let message = Some(body);
                    let origin = Origin { run: None, message, tenant, dialect, workflow };
                    self.give_up(origin, *given_up);
                }
            }
        }
    }
}
