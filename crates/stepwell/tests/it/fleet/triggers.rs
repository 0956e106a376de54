//! Three servers that share triggers, while the one that looks after them is frozen and killed.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use stepwell_connectors::egress::{secret_bytes, sign};

use super::{Fleet, Profile};
use crate::crash::world::World;

const WORKFLOW: &str = "name: report\nsteps:\n  - {id: make, type: MAKE, pool: storm}\n";

/// A call to a server that is frozen or killed ends without an answer; the sender tries another.
const PATIENCE: Duration = Duration::from_millis(500);

/// How late a firing may be: far longer than it takes to miss a server, and far shorter than the time for
/// which one of them is the one that looks.
const LATE_MAX_MS: i64 = 12_000;

/// Servers with triggers.
struct Town {
    fleet: Fleet,
    world: World,
    /// of the webhook
    secret: Vec<u8>,
}

impl Town {
    async fn begin(directory: &Path) -> Option<Self> {
        let watched = directory.to_str().expect("a plain name");
        let more = ["--allow-trigger-directory", watched];
        let started = || Fleet::start_with(Profile::HASTY, &more);
        let fleet = tokio::task::block_in_place(started)?;
        let world = fleet.world().with_patience(Duration::from_secs(4));
        world.publish(WORKFLOW).await;
        let cron = json!({"cron": "* * * * * *", "overlap": "allow", "catch_up_mode": "all"});
        let files = json!({"directory": watched, "glob": "*.csv", "settle": "0s"});
        let mut secret = None;
        for (kind, part) in [("schedule", cron), ("file_drop", files), ("webhook", json!({}))] {
            let document = json!({"name": kind, "kind": kind, "workflow_id": "report", kind: part});
            let made = world.answer(world.post("/v1/workspaces/acme/triggers", &document)).await;
            let Some((201, made)) = made else { panic!("{kind} was not made: {made:?}") };
            secret = made["secret"].as_str().and_then(secret_bytes);
        }
        Some(Self { fleet, world, secret: secret.expect("it is shown") })
    }

    /// The place of the server that has a right, once one of them has it.
    async fn holder(&self, right: &str) -> usize {
        let sql = format!(
            "select instance.id from stepwell.lease
               join stepwell.instance on instance.epoch::text = lease.holder
              where lease.name = '{right}' and instance.state = 'alive'"
        );
        loop {
            let holder = self.fleet.query(&sql);
            for (place, site) in self.fleet.sites.iter().enumerate() {
                let stats = self.call(&format!("{}/api/v1/stats", site.url())).await;
                if stats.is_some_and(|stats| holder == [stats["owner_id"].as_str().unwrap_or("")]) {
                    return place;
                }
            }
            self.world.before_retry().await;
        }
    }

    async fn call(&self, url: &str) -> Option<Value> {
        let client = reqwest::Client::builder().no_proxy().build().expect("an HTTP client");
        let request = client.get(url).bearer_auth(&self.fleet.token).timeout(PATIENCE);
        request.send().await.ok()?.json().await.ok()
    }

    /// Sends the same request to every server, whether it answers or not, until one of them has.
    async fn send(&self, id: &str) {
        let client = reqwest::Client::builder().no_proxy().build().expect("an HTTP client");
        let body = json!({"order": id}).to_string();
        let mut accepted = 0;
        while accepted == 0 {
            for site in &self.fleet.sites {
                let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
                let seconds = i64::try_from(now.expect("after 1970").as_secs()).expect("not yet");
                let request = client
                    .post(format!("{}/v1/hooks/acme/webhook", site.url()))
                    .header("webhook-id", id)
                    .header("webhook-timestamp", seconds.to_string())
                    .header("webhook-signature", sign(&self.secret, id, seconds, body.as_bytes()))
                    .timeout(PATIENCE)
                    .body(body.clone());
                let answer = request.send().await;
                accepted += usize::from(answer.is_ok_and(|answer| answer.status() == 202));
            }
        }
    }

    /// Drops files, and has requests sent; waits until each has made its job, and the clock some too.
    async fn round(&self, directory: &Path, round: usize) {
        let begun = self.started("schedule");
        for number in 0..5 {
            let path = directory.join(format!("{round}-{number}.csv"));
            fs::write(path, "a,b\n").expect("there is room");
            self.send(&format!("{round}-{number}")).await;
        }
        let all = |count: usize| count == 5 * (round + 1);
        while !(all(self.started("file_drop"))
            && all(self.started("webhook"))
            && self.started("schedule") >= begun + 2)
        {
            self.world.before_retry().await;
        }
    }

    /// Firings of a trigger that have made a job.
    fn started(&self, name: &str) -> usize {
        let sql = format!(
            "select count(*) from stepwell.firing where trigger = '{name}' and outcome = 'started'"
        );
        self.fleet.query(&sql)[0].parse().expect("a number")
    }

    fn number(&self, sql: &str) -> i64 {
        self.fleet.query(sql)[0].parse().expect("a number")
    }
}

// Issue 6: several servers never fire one trigger twice, and miss none, whoever is frozen or killed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_servers_fire_every_trigger_once_while_the_one_that_looks_is_lost() {
    let directory = tempfile::tempdir().expect("a place");
    let directory = directory.path().canonicalize().expect("it exists");
    let Some(mut town) = Town::begin(&directory).await else { return };
    town.round(&directory, 0).await;
    for (round, right) in [(1, "triggers"), (2, "file drops")] {
        let holder = town.holder(right).await;
        town.fleet.sites[holder].signal("STOP");
        town.round(&directory, round).await;
        town.fleet.sites[holder].signal("CONT");
    }
    for (round, right) in [(3, "triggers"), (4, "file drops")] {
        let holder = town.holder(right).await;
        tokio::task::block_in_place(|| town.fleet.sites[holder].kill());
        town.round(&directory, round).await;
        tokio::task::block_in_place(|| town.fleet.sites[holder].start());
    }
    tokio::task::block_in_place(|| town.fleet.stop());

    let jobs = town.number("select count(*) from stepwell.run");
    let made = "from stepwell.firing where outcome = 'started'";
    assert_eq!(town.number(&format!("select count(*) {made}")), jobs, "as many firings as jobs");
    assert_eq!(town.number(&format!("select count(distinct run_id) {made}")), jobs, "each its own");
    assert_eq!(town.started("file_drop") + town.started("webhook"), 50);
    let missed = "select count(*) from (select scheduled_for - lag(scheduled_for) over (order by
        scheduled_for) as gap from stepwell.firing where trigger = 'schedule') as it where gap <> 1000";
    assert_eq!(town.number(missed), 0, "every second once");
    let late = town.number(&format!("select max(at - scheduled_for) {made}"));
    assert!(late < LATE_MAX_MS, "the latest was {late} ms late");
}
