//! `stepwell demo --commands`: a few hundred jobs of several tenants, and what may happen to them.

mod script;
mod tally;
mod workers;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar};
use serde_json::{Value, json};
use stepwell_worker::Client;
use tokio::sync::watch;

use super::DemoArguments;
use crate::client::Api;
use crate::commands::job::explained;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::moment::measured;
use crate::print::Printer;
use crate::progress;
use crate::serve::{Plan, Running, signal};
use script::Script;
use tally::Tally;
use workers::{Stage, lock};

const PROTOCOL: &str = include_str!("../invoice-intake.yaml");
const STEPS: [&str; 3] = ["scan", "check", "file"];
const TENANTS: [&str; 4] = ["contoso", "fabrikam", "northwind", "tailspin"];
/// So slow that one can watch it.
const SUBMIT_EVERY: Duration = Duration::from_millis(20);
const LOOK_EVERY: Duration = Duration::from_millis(150);
const END_MAX: Duration = Duration::from_secs(60);

/// What the demo has in its hands.
struct Demo {
    print: Printer,
    lines: MultiProgress,
    bars: Vec<(&'static str, ProgressBar)>,
    api: Api,
    stage: Arc<Stage>,
}

/// Shows it on a server that keeps its data in this directory.
pub(super) async fn run(
    print: Printer,
    data: &Path,
    arguments: &DemoArguments,
) -> Result<Exit, Failure> {
    let running = Running::start(Plan::local(data)).await?;
    let (url, token) = (running.url(), running.admin_token.clone().unwrap_or_default());
    let demo = Demo::new(print, arguments, &url, &token).await?;
    demo.tell(&format!("A server listens on {url}, its data in a temporary directory.\n"));
    let tally = tokio::select! {
        tally = demo.play() => tally?,
        () = signal::first() => return Ok(Exit::Interrupted),
    };
    demo.sum_up(&tally, arguments.seed);
    if arguments.keep {
        demo.show_way_in(&url, &token);
        signal::first().await;
    } else {
        demo.show_next();
    }
    running.stop().await;
    Ok(Exit::Ok)
}

impl Demo {
    async fn new(
        print: Printer,
        arguments: &DemoArguments,
        url: &str,
        token: &str,
    ) -> Result<Self, Failure> {
        let api = Api::at(url, token)?;
        api.post_yaml(&["v1", "workflows"], PROTOCOL.to_owned()).await?;
        let worker = json!({ "name": "workers of the demo", "role": "worker" });
        let worker = api.post(&["v1", "tokens"], &worker).await?;
        let client = Client::new(url, worker["token"].as_str().unwrap_or_default())
            .map_err(|error| Failure::new(Exit::Failure, "no_client", error.to_string()))?;
        let jobs = arguments.jobs;
        let lines = progress::lines(print.is_live());
        let bars = STEPS.map(|step| (step, progress::bar(&lines, step, jobs.into())));
        let script = Script::new(jobs as usize, arguments.seed);
        Ok(Self { print, lines, bars: bars.into(), api, stage: Stage::new(script, client) })
    }

    /// Submits everything, waits for the end, and reads what came of it.
    async fn play(&self) -> Result<Tally, Failure> {
        let stop = watch::Sender::new(false);
        let mut workers = self.stage.start(&self.bars, &stop.subscribe());
        let (submitted, cancelled) = tokio::join!(self.submit(), self.cancel_one());
        submitted?;
        cancelled?;
        self.wait_for_end().await?;
        stop.send_replace(true);
        while workers.join_next().await.is_some() {}
        self.bars.iter().for_each(|(_, bar)| bar.abandon());
        Tally::read(&self.api).await
    }

    async fn submit(&self) -> Result<(), Failure> {
        let mut beats = tokio::time::interval(SUBMIT_EVERY);
        for number in 0..self.stage.script.len() {
            beats.tick().await;
            let envelope = json!({
                "schema_version": "1",
                "tenant_id": TENANTS[number % TENANTS.len()],
                "request_type": "invoice.intake",
                "idempotency_key": format!("invoice-{number}"),
                "correlation_id": format!("demo-{number}"),
                "input_ref": format!("demo://invoices/{number}"),
                "output_ref": format!("demo://filed/{number}"),
                "payload": { "number": number },
            });
            self.api.post(&["v1", "commands"], &envelope).await?;
        }
        Ok(())
    }

    /// Asks why the one job that hangs is not moving, and cancels it.
    async fn cancel_one(&self) -> Result<(), Failure> {
        let mut cancellable = self.stage.cancellable.subscribe();
        let job = match cancellable.wait_for(Option::is_some).await {
            Ok(job) => job.clone().unwrap_or_default(),
            Err(_) => return Ok(()),
        };
        let explanation = self.api.get(&["v1", "jobs", &job, "explain"], &[]).await?;
        self.tell(&format!("Why is job {job} not moving?"));
        for line in explained(&explanation) {
            self.tell(&format!("  {line}"));
        }
        let body = json!({ "reason": "the demo shows how" });
        self.api.post(&["v1", "jobs", &format!("{job}:cancel")], &body).await?;
        self.tell("It is cancelled: the check may end, and nothing new begins.\n");
        self.stage.cancelled.notify_one();
        Ok(())
    }

    async fn wait_for_end(&self) -> Result<(), Failure> {
        let open = [("status", "QUEUED,IN_PROGRESS,CANCELLING"), ("limit", "1")];
        let look = async {
            loop {
                let page = self.api.get(&["v1", "jobs"], &open).await?;
                if page["items"].as_array().is_none_or(Vec::is_empty) {
                    return Ok(());
                }
                tokio::time::sleep(LOOK_EVERY).await;
            }
        };
        tokio::time::timeout(END_MAX, look).await.unwrap_or_else(|_| {
            let what = format!("some jobs have not ended within {} s", END_MAX.as_secs());
            Err(Failure::new(Exit::Failure, "demo_not_ended", what))
        })
    }

    /// Tells people something between the bars.
    fn tell(&self, text: &str) {
        if self.print.is_live() {
            let _ = self.lines.println(text);
        } else if !self.print.is_json() {
            self.print.note(text);
        }
    }

    fn sum_up(&self, tally: &Tally, seed: u64) {
        let late = lock(&self.stage.late_answer).clone().unwrap_or_default();
        if self.print.is_json() {
            let mut summary = tally.to_json();
            summary["seed"] = seed.into();
            summary["late_report"] = Value::from(late);
            self.print.value(&summary);
            return;
        }
        self.print
            .note("\n\nA worker answered after its time was over. The server noted it and said:");
        self.print.note(&format!("  not applied: {late}\n"));
        let count = |name: &str, count: usize| vec![name.to_owned(), count.to_string()];
        let rows = [
            count("jobs submitted", tally.submitted),
            count("succeeded", tally.succeeded),
            count("failed for good", tally.failed),
            count("cancelled by a person", tally.cancelled),
            count("retries after a failure", tally.retries),
            count("timeouts, given to another worker", tally.timeouts),
            count("late reports refused", tally.stale_refused),
            vec!["half of the jobs took up to".to_owned(), measured(tally.percentile_ms(0.5))],
            vec!["99 of 100 took up to".to_owned(), measured(tally.percentile_ms(0.99))],
        ];
        self.print.table(["WHAT", "HOW MUCH"], rows);
    }

    fn show_way_in(&self, url: &str, token: &str) {
        self.print.note("\nThe server stays up until Ctrl-C. In another terminal:\n");
        self.print.line(&format!("export STEPWELL_SERVER={url}"));
        self.print.line(&format!("export STEPWELL_TOKEN={token}"));
        self.print.note("\nThen try:\n");
        self.print.note("  stepwell job list --status FAILED_FINAL");
        self.print.note("  stepwell job steps JOB");
        self.print.note("  stepwell dead-letter list");
        self.print.note("  stepwell workflow get invoice-intake");
    }

    fn show_next(&self) {
        if self.print.is_json() {
            return;
        }
        self.print.note("\nNext:\n");
        self.print.note("  stepwell demo --commands --keep      the same, and look around in it");
        self.print.note("  stepwell serve                       a server of your own");
        self.print.note("  stepwell workflow publish FILE       your first workflow");
        self.print.note("  stepwell worker exec --pool P -- CMD a worker without writing one");
    }
}
