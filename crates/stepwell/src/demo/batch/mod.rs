//! `stepwell demo`: fifty branches of a shop go through three phases around their T-0, in half a minute.
//!
//! The server, its scheduler and its store are the real ones; only their clock runs faster. The list of
//! branches is a file, and who joins or leaves does so by a change of that file.

mod list;
mod narrator;
mod script;
mod story;
mod tally;
mod workers;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde_json::{Value, json};
use stepwell_connectors::clock::{Clock, FastClock};
use stepwell_engine::Scheduler;

use crate::client::Api;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::print::Printer;
use crate::serve::{Plan, Running, signal};
use list::BranchList;
use narrator::Narrator;
use script::{LATE, LEAVING};
use story::Story;
use tally::Tally;
use workers::Workers;

const RUNBOOK: &str = include_str!("../../../../../examples/runbooks/branch-cutover.yaml");
const NAME: &str = "branch-cutover";

/// Five minutes in a second.
const FACTOR: u32 = 300;
const MINUTE_MS: i64 = 60_000;
/// The clock begins so far back that the batch is over before it has caught up with the machine's.
const PAST_MS: i64 = 6 * 60 * MINUTE_MS;
/// The first phase is due 90 minutes before T-0; the list is read a little earlier.
const LEAD_MS: i64 = 95 * MINUTE_MS;
/// T-0 is a time that people would choose.
const ROUND_MS: i64 = 5 * MINUTE_MS;
const JOINS_BEFORE_MS: i64 = 38 * MINUTE_MS;
const LEAVES_BEFORE_MS: i64 = 12 * MINUTE_MS;

/// Shows it on a server that keeps its data in this directory.
pub(super) async fn run(print: Printer, data: &Path, keep: bool) -> Result<Exit, Failure> {
    let now_ms = Timestamp::now().as_millisecond();
    let clock = Arc::new(FastClock::new(now_ms - PAST_MS, FACTOR));
    let list = BranchList::new(data);
    let scheduler = Scheduler { sources: list.sources(), ..Scheduler::default() };
    let plan = Plan { scheduler, clock: Some(Arc::clone(&clock)), ..Plan::local(data) };
    let running = Running::start(plan).await?;
    let (url, token) = (running.url(), running.admin_token.clone().unwrap_or_default());
    let demo = Demo::new(print, clock, list, &url, &token).await?;
    // The workers stay as long as the server does: with --keep there may be more to do for them.
    let working = demo.workers.start();
    let tally = tokio::select! {
        tally = demo.play(&url) => tally?,
        () = signal::first() => return Ok(Exit::Interrupted),
    };
    if print.is_json() {
        print.value(&tally.to_json());
    } else {
        tally.show(print);
    }
    if keep {
        show_way_in(print, &url, &token);
        signal::first().await;
    } else {
        show_next(print);
    }
    drop(working);
    running.stop().await;
    Ok(Exit::Ok)
}

/// What the demo has in its hands.
struct Demo {
    api: Api,
    clock: Arc<FastClock>,
    list: BranchList,
    /// T-0
    start: Timestamp,
    narrator: Arc<Narrator>,
    workers: Arc<Workers>,
}

impl Demo {
    async fn new(
        print: Printer,
        clock: Arc<FastClock>,
        list: BranchList,
        url: &str,
        token: &str,
    ) -> Result<Self, Failure> {
        let api = Api::at(url, token)?;
        let document = json!({ "name": NAME, "yaml_content": RUNBOOK });
        api.post(&["api", "runbooks"], &document).await?;
        let worker = json!({ "name": "workers of the demo", "role": "worker" });
        let worker = api.post(&["v1", "tokens"], &worker).await?;
        let worker = Api::at(url, worker["token"].as_str().unwrap_or_default())?;
        let start = start_after(clock.now_ms());
        let narrator = Arc::new(Narrator::new(print, Arc::clone(&clock), start));
        let workers = Workers::new(worker, Arc::clone(&clock), Arc::clone(&narrator));
        Ok(Self { api, clock, list, start, narrator, workers })
    }

    /// Writes the list, lets the scheduler have it, and follows what comes of it.
    async fn play(&self, url: &str) -> Result<Tally, Failure> {
        let (begun, begun_ms) = (Instant::now(), self.clock.now_ms());
        let at = self.start.strftime("%H:%M");
        self.narrator.say(&format!(
            "A server listens on {url}. Fifty branches of a shop get new tills; T-0 is {at} UTC.\n\
             Its clock runs {FACTOR} times as fast: five minutes in a second.\n"
        ));
        self.list.write(self.start, |branch| branch != LATE)?;
        let enabled = json!({ "enabled": true });
        self.api.put(&["api", "runbooks", NAME, "automation"], &enabled).await?;
        let mut story = Story::new(&self.api, &self.narrator);
        let (batch, ()) = tokio::try_join!(story.follow(&self.workers), self.change_list())?;
        let simulated_ms = u64::try_from(self.clock.now_ms() - begun_ms).unwrap_or(0);
        let took = (Duration::from_millis(simulated_ms), begun.elapsed());
        Tally::read(&self.api, batch, &self.workers, took).await
    }

    /// Changes the list as whoever keeps it might; the scheduler finds out by itself.
    async fn change_list(&self) -> Result<(), Failure> {
        let start_ms = self.start.as_millisecond();
        self.clock.sleep_until_ms(start_ms - JOINS_BEFORE_MS).await;
        self.list.write(self.start, |_| true)?;
        self.narrator.tell(&format!("somebody adds {LATE} to the list"));
        self.clock.sleep_until_ms(start_ms - LEAVES_BEFORE_MS).await;
        self.list.write(self.start, |branch| branch != LEAVING)?;
        self.narrator.tell(&format!("somebody strikes {LEAVING} from the list"));
        Ok(())
    }
}

/// A round time that leaves enough for what comes before T-0.
fn start_after(now_ms: i64) -> Timestamp {
    let start_ms = (now_ms + LEAD_MS + ROUND_MS - 1) / ROUND_MS * ROUND_MS;
    Timestamp::from_millisecond(start_ms).unwrap_or_default()
}

/// A list in an answer of the server; nothing if it has none.
fn items(list: &Value) -> &[Value] {
    list.as_array().map_or(&[], Vec::as_slice)
}

fn show_way_in(print: Printer, url: &str, token: &str) {
    print.note("\nThe server stays up until Ctrl-C. In another terminal:\n");
    print.line(&format!("export STEPWELL_SERVER={url}"));
    print.line(&format!("export STEPWELL_TOKEN={token}"));
    print.note("\nThen try:\n");
    print.note("  stepwell batch get 1");
    print.note("  stepwell batch steps 1 --status failed");
    print.note("  stepwell batch explain 1");
    print.note("  stepwell batch events 1");
    print.note(&format!("  stepwell runbook get {NAME}"));
}

fn show_next(print: Printer) {
    if print.is_json() {
        return;
    }
    print.note("\nNext:\n");
    print.note("  stepwell demo --keep                 the same, and look around in it");
    print.note("  stepwell demo --commands             single jobs instead of a batch");
    print
        .note("  stepwell rehearse RUNBOOK            the timeline of your own runbook in seconds");
    print.note("  stepwell serve                       a server of your own");
}
