//! After the storm: what the database holds, against what was promised.

use std::collections::{BTreeMap, BTreeSet};

use stepwell_store::postgres::{Options, PostgresStore};
use stepwell_store::{Filter, Page, Store};

use super::Fleet;
use super::orders::key;
use super::receiver::Receiver;
use crate::crash::history;
use crate::crash::verdict::load;
use crate::crash::world::World;

const PAGE: usize = 500;

/// Every order became one job, every job ended, every history is sound, everybody was told once, every
/// end stands in the log of events once, and nothing is left in any queue.
pub(super) async fn judge(fleet: &Fleet, world: &World, receiver: &Receiver, jobs: usize) {
    let ordered: BTreeSet<String> = (0..jobs).map(key).collect();
    let store =
        PostgresStore::open(&fleet.database, Options::default()).await.expect("it is there");
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    let mut leases = BTreeSet::new();
    let mut before = None;
    loop {
        let page = store.runs(Filter::default(), Page { before, limit: PAGE }).await.expect("read");
        for summary in &page {
            let (run, records) = load(&store, summary.id).await;
            history::check(&run, &records, &world.journal.book(), &mut leases);
            let key = run.header.context["idempotency_key"].as_str().expect("a key").to_owned();
            let other = found.insert(key, run.id().to_string());
            assert_eq!(other, None, "two jobs for one key: {}", run.id());
        }
        match page.last() {
            Some(last) if page.len() == PAGE => before = Some(last.id),
            _ => break,
        }
    }
    store.close().await.expect("it closes");
    let keys: BTreeSet<String> = found.keys().cloned().collect();
    assert_eq!(keys, ordered, "every order became a job, and nothing else did");
    told_once(receiver, &found);
    logged_once(fleet, &found);
    left_behind(fleet);
}

/// One notice for each job, although it may have been sent again when its sender died.
fn told_once(receiver: &Receiver, jobs: &BTreeMap<String, String>) {
    let notices = receiver.notices();
    for (key, job) in jobs {
        let events = &notices[key];
        assert_eq!(events.len(), 1, "{key} was told {events:?}");
        assert!(events.keys().all(|id| id.starts_with(job.as_str())), "{key}: {events:?}");
    }
}

/// One event for the end of each job, each in its own place, written with the decision that ended it.
fn logged_once(fleet: &Fleet, jobs: &BTreeMap<String, String>) {
    let ends = "from stepwell.event where kind = 'workflow_run_completed'";
    let told: BTreeSet<String> =
        fleet.query(&format!("select distinct run_id::text {ends}")).into_iter().collect();
    assert_eq!(told, jobs.values().cloned().collect(), "the end of every job is an event");
    let counts = fleet.query(&format!("select count(*), count(distinct id) {ends}"));
    let (one, count) = (&counts[0], jobs.len().to_string());
    assert_eq!(one.split('|').collect::<Vec<_>>(), [&count, &count], "and no end is two");
}

fn left_behind(fleet: &Fleet) {
    for table in ["submission", "input", "dead_letter where message is not null"] {
        let count = fleet.query(&format!("select count(*) from stepwell.{table}"));
        assert_eq!(count, ["0"], "nothing is left in {table}");
    }
    let open = fleet.query("select count(*) from stepwell.run where ended_at is null");
    assert_eq!(open, ["0"], "no job is left open");
}
