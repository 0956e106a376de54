//! The workers of the demo: made up, but they receive, work and report over HTTP like any others.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use stepwell_connectors::clock::{Clock, FastClock};
use stepwell_dialects::runbooks::job_id::JobId;
use tokio::task::JoinSet;

use super::items;
use super::narrator::Narrator;
use super::script::{self, Verdict};
use crate::client::Api;
use crate::failure::Failure;

/// Every `worker_id` of the runbook.
const POOLS: [&str; 3] = ["desk", "site", "data"];
/// The rest after a call that failed.
const REST: Duration = Duration::from_millis(200);

/// The workers of all pools.
pub(super) struct Workers {
    api: Api,
    clock: Arc<FastClock>,
    narrator: Arc<Narrator>,
    /// jobs whose success the server accepted, by function
    done: Mutex<BTreeMap<String, u32>>,
    /// polling has been told of, once for all branches
    has_told_of_polls: Mutex<bool>,
}

impl Workers {
    pub(super) fn new(api: Api, clock: Arc<FastClock>, narrator: Arc<Narrator>) -> Arc<Self> {
        let (done, has_told_of_polls) = (Mutex::default(), Mutex::default());
        Arc::new(Self { api, clock, narrator, done, has_told_of_polls })
    }

    /// Starts a worker in every pool; they end when the answer is dropped.
    pub(super) fn start(self: &Arc<Self>) -> JoinSet<()> {
        POOLS.into_iter().map(|pool| Arc::clone(self).serve(pool)).collect()
    }

    /// How many jobs of a function have succeeded.
    pub(super) fn done(&self, function: &str) -> u32 {
        lock(&self.done).get(function).copied().unwrap_or(0)
    }

    async fn serve(self: Arc<Self>, pool: &'static str) {
        // The clock runs fast: an hour of it is twelve seconds in which to do a job.
        let wanted = json!({ "max": 64, "wait_sec": 30, "lock_sec": 3_600 });
        let mut jobs = JoinSet::new();
        loop {
            match self.api.post(&["api", "worker-jobs", pool, "receive"], &wanted).await {
                Ok(received) => {
                    for message in items(&received["messages"]) {
                        jobs.spawn(Arc::clone(&self).work(message["body"].clone()));
                    }
                }
                // Whatever it is, it is worth another try: jobs wait meanwhile.
                Err(_) => tokio::time::sleep(REST).await,
            }
            while jobs.try_join_next().is_some() {}
        }
    }

    async fn work(self: Arc<Self>, job: Value) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (function, branch) = (text(&job["FunctionName"]), text(&job["Parameters"]["branch"]));
        let Ok(id) = text(&job["JobId"]).parse::<JobId>() else { return };
        let length_ms = script::length(&function, &branch).as_millis();
        let end_ms = self.clock.now_ms() + i64::try_from(length_ms).unwrap_or(0);
        self.clock.sleep_until_ms(end_ms).await;
        let verdict = script::verdict(&function, &branch, &id);
        // A result that does not arrive is given again, when the lock on the job has run out.
        if self.report(&job, &verdict).await.is_ok_and(|is_accepted| is_accepted) {
            self.take_note(&function, &branch, &verdict);
        }
    }

    async fn report(&self, job: &Value, verdict: &Verdict) -> Result<bool, Failure> {
        let (status, result, error) = match verdict {
            Verdict::Done(result) => ("Success", result.clone(), Value::Null),
            Verdict::NotYet => ("Success", json!({ "complete": false }), Value::Null),
            Verdict::Failed(why) => {
                ("Failure", Value::Null, json!({ "Message": why, "Type": "TillError" }))
            }
        };
        let message = json!({
            "JobId": job["JobId"],
            "Status": status,
            "ResultType": "Object",
            "Result": result,
            "Error": error,
            "CorrelationData": job["CorrelationData"],
        });
        let answer = self.api.post(&["api", "worker-results"], &message).await?;
        Ok(answer["results"][0]["outcome"] == "accepted")
    }

    fn take_note(&self, function: &str, branch: &str, verdict: &Verdict) {
        if let Verdict::Done(_) = verdict {
            *lock(&self.done).entry(function.to_owned()).or_default() += 1;
        }
        match (function, verdict) {
            ("till.install", Verdict::Failed(why)) => {
                self.narrator.tell(&format!("{branch}: {why}; it is tried again in two minutes"));
            }
            ("prices.copy", Verdict::NotYet) => self.tell_of_polls(),
            ("prices.copy", Verdict::Done(_)) if branch == script::LATE => {
                self.narrator.tell(&format!("{branch} has caught up with all others"));
            }
            ("till.release", Verdict::Done(_)) => {
                self.narrator.tell(&format!("{branch}: its new till is released"));
            }
            _ => {}
        }
    }

    fn tell_of_polls(&self) {
        if !std::mem::replace(&mut *lock(&self.has_told_of_polls), true) {
            self.narrator.tell("the copies are not done yet; each is asked for every five minutes");
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Every change is a single assignment, so a poisoned lock holds a sound value.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
