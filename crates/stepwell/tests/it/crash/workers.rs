//! Workers as they are in the world: some answer twice, some too late, some never.

use std::sync::Arc;
use std::time::Duration;

use rand::RngExt;
use rand::rngs::StdRng;
use serde_json::json;
use stepwell_worker::{
    Answer, Attempt, Client, ClientError, Failure, Lease, Leased, Report, Status,
};

use super::world::World;

/// The code of every failure that a worker reports; the kernel's own failures have others.
pub(crate) const SAID_SO: &str = "worker_said_so";

/// How a worker treats one directive.
enum Manner {
    Report(Status),
    /// the same report by two ways at once
    ReportTwice(Status),
    /// keeps the report until somebody else was asked
    ReportLate,
    /// does the work and dies
    FallSilent,
    GiveBack,
}

/// A worker, with what it draws its manners from.
pub(crate) struct Worker {
    world: Arc<World>,
    rng: StdRng,
    name: String,
    reports: u32,
}

impl Worker {
    pub(crate) fn new(world: Arc<World>, number: usize, rng: StdRng) -> Self {
        Self { world, rng, name: format!("worker-{number}"), reports: 0 }
    }

    /// Takes directives and treats them well or badly, until it is ended.
    pub(crate) async fn run(mut self) {
        loop {
            let client = self.world.client();
            match self.world.call(client.lease(self.world.pool, ask(8))).await {
                Ok(leased) => {
                    for leased in leased {
                        self.treat(&client, leased).await;
                    }
                }
                Err(ClientError::Unavailable { .. }) => self.world.before_retry().await,
                Err(error) => panic!("a lease was refused: {error}"),
            }
        }
    }

    /// Takes one directive and does nothing with it.
    pub(crate) async fn take_one(&self) -> Attempt {
        let client = self.world.client();
        let mut leased = client.lease(self.world.pool, ask(1)).await.expect("the server is up");
        let attempt = leased.pop().expect("a directive waits").directive.attempt;
        self.world.journal.delivered(&attempt);
        attempt
    }

    /// Sends a report once, whatever comes of it.
    pub(crate) async fn try_report(&mut self, attempt: &Attempt, status: Status) -> Answer {
        let report = self.report(attempt, status);
        self.world.journal.sent(&report);
        let answers = self.world.client().results(&[report]).await;
        answers.expect("the server is up").pop().expect("one answer for one report")
    }

    async fn treat(&mut self, client: &Client, leased: Leased) {
        let attempt = &leased.directive.attempt;
        self.world.journal.delivered(attempt);
        for report in self.world.journal.take_outdated(attempt) {
            if report.attempt.attempt_no < attempt.attempt_no {
                refused(&self.world, &report).await;
            } else {
                // Of two questions of one poll this worker cannot tell which came first: its own may
                // have waited longer than the other. The history knows.
                send(&self.world, &report, false).await;
            }
        }
        if self.rng.random_bool(0.5) {
            self.world.journal.book().acks.insert(attempt.clone());
            // An ack is a courtesy: one that is lost costs nothing.
            let ack = self.world.client();
            let _ = self.world.call(ack.acks(std::slice::from_ref(attempt))).await;
        }
        match self.manner(attempt) {
            Manner::Report(status) => {
                let (report, dies) = (self.report(attempt, status), self.dies());
                send(&self.world, &report, dies).await;
            }
            Manner::ReportTwice(status) => {
                let report = self.report(attempt, status);
                let (first_dies, second_dies) = (self.dies(), self.dies());
                let first = send(&self.world, &report, first_dies);
                let second = send(&self.world, &report, second_dies);
                tokio::join!(first, second);
            }
            Manner::ReportLate => {
                let report = self.report(attempt, Status::Succeeded);
                self.world.journal.book().late.push(report);
            }
            Manner::FallSilent => self.world.journal.book().tally.silent += 1,
            Manner::GiveBack => {
                // Only who has handed it out can take it back.
                let _ = self.world.call(client.nack(&[leased.delivery], Duration::ZERO)).await;
            }
        }
    }

    fn manner(&mut self, attempt: &Attempt) -> Manner {
        let is_polled = attempt.step_id == "polled";
        let wild = self.world.is_wild();
        match self.rng.random_range(0..100) {
            0..30 if is_polled => Manner::Report(Status::Incomplete),
            _ if !wild => Manner::Report(Status::Succeeded),
            30..36 => Manner::FallSilent,
            36..44 => Manner::ReportLate,
            44..54 => Manner::ReportTwice(Status::Succeeded),
            54..62 => Manner::Report(Status::FailedRetryable),
            62..64 => Manner::ReportTwice(Status::FailedRetryable),
            64..66 => Manner::Report(Status::FailedFinal),
            66..70 => Manner::GiveBack,
            _ => Manner::Report(Status::Succeeded),
        }
    }

    fn report(&mut self, attempt: &Attempt, status: Status) -> Report {
        self.reports += 1;
        let mark = format!("{}-{}", self.name, self.reports);
        let failed = matches!(status, Status::FailedFinal | Status::FailedRetryable);
        let error = Failure { code: SAID_SO.to_owned(), message: mark.clone() };
        Report {
            result: (!failed).then(|| json!({ "mark": mark })),
            error: failed.then_some(error),
            ..Report::new(attempt.clone(), status)
        }
    }

    /// Whether it will die the next time that the server does not answer.
    fn dies(&mut self) -> bool {
        self.world.is_wild() && self.rng.random_bool(0.25)
    }
}

/// What to lease: not for long, so that what a silent worker holds soon comes to another.
fn ask(max: usize) -> Lease<'static> {
    let (wait, visibility) = (Duration::from_secs(2), Duration::from_secs(1));
    Lease { max, wait, visibility, lanes: &[] }
}

/// Sends a report until it is answered; a worker that dies does not send it again.
async fn send(world: &World, report: &Report, dies: bool) -> Option<Answer> {
    world.journal.sent(report);
    loop {
        let client = world.client();
        match world.call(client.results(std::slice::from_ref(report))).await {
            Ok(mut answers) => {
                let answer = answers.pop().expect("one answer for one report");
                if !answer.is_not_now() {
                    world.journal.answered(report, &answer);
                    world.progress.notify_waiters();
                    return Some(answer);
                }
            }
            Err(ClientError::Unavailable { .. }) => {}
            Err(error) => panic!("a report was refused as a whole: {error}"),
        }
        if dies {
            return None;
        }
        world.before_retry().await;
    }
}

/// Sends a report that must not count any more, because a newer lease was handed out or the job has
/// ended.
pub(crate) async fn refused(world: &World, report: &Report) {
    let answer = send(world, report, false).await.expect("it does not die");
    assert!(!answer.applied, "a report of an earlier lease counted: {report:?}");
}
