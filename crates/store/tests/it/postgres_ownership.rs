//! Several instances on one PostgreSQL: what only real rows, locks and clocks can show.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use stepwell_core::duration::Interval;
use stepwell_core::run::{Dialect, Header};
use stepwell_store::conformance::Subject;
use stepwell_store::conformance::world::{
    World, decided, header, item, key, run_id, started, success,
};
use stepwell_store::postgres::{Options, PostgresStore};
use stepwell_store::{Create, Group, InstanceState, Item, StoreError, Verdict};
use tokio_postgres::{Client, NoTls};

use crate::postgres::Place;

/// Nobody in these tests is silent for so long.
const LONG: Interval = Interval::from_secs(3_600);

/// Two instances, each with connections of its own, as two processes have.
async fn two(place: &Place) -> (World, World) {
    let one = Subject { store: Arc::new(place.open().await), reopen: None };
    let two = Subject { store: Arc::new(place.open().await), reopen: None };
    (World::named(&one, "one").await, World::named(&two, "two").await)
}

fn platform(number: u64) -> Header {
    Header { dialect: Dialect::Platform, ..header(number) }
}

/// Sets the last sign of life of an instance back, as if it had been silent since.
fn silence(place: &Place, world: &World, seconds: u32) {
    place.query(&format!(
        "UPDATE instance SET heartbeat_at = clock_timestamp() - interval '{seconds} seconds'
          WHERE epoch = {}",
        world.epoch.0
    ));
}

/// How many wait for instances to finish what they commit.
const WAITING: &str = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
    AND classid = (hashtext(current_schema() || '.instance')::bigint & x'FFFFFFFF'::bigint)";

/// A session of our own in the schema.
async fn session(place: &Place) -> Client {
    let plain = place.url.split_once("schema=").unwrap().0.trim_end_matches(['?', '&']);
    let (client, driver) = tokio_postgres::connect(plain, NoTls).await.unwrap();
    tokio::spawn(driver);
    client.batch_execute(&format!("SET search_path = {}", place.schema)).await.unwrap();
    client
}

// B-022, B-023, B-037: the job stands there with its owner and that owner's sign of life.
#[tokio::test]
async fn a_job_is_stored_with_its_owner_in_the_shape_of_the_seed() {
    let Some(place) = Place::fresh() else { return };
    let (one, _) = two(&place).await;
    let correlation_id = Some("case-7".to_owned());
    one.begins(Header { correlation_id, actor: "platform-gateway".to_owned(), ..platform(1) })
        .await;
    one.begins(header(2)).await;
    let rows = place.query(
        "SELECT workflow_id, status, input_params->>'name', owner_id, submitted_by, correlation_id,
                version, owner_heartbeat_at = (SELECT heartbeat_at FROM instance WHERE id = 'one'),
                created_at = '2025-03-15T00:00:00Z'
           FROM dag_jobs",
    );
    assert_eq!(
        rows,
        ["onboard|running|ada|one|platform-gateway|case-7|1|t|t"],
        "platform jobs only"
    );
    let types = place.query(
        "SELECT format_type(atttypid, atttypmod) FROM pg_attribute
          WHERE attrelid = 'dag_jobs'::regclass AND attname LIKE 'owner%' ORDER BY attname",
    );
    assert_eq!(types, ["timestamp with time zone", "character varying(64)"]);
}

// B-039: other owners' jobs, and jobs that have ended, are not touched.
#[tokio::test]
async fn a_sign_of_life_touches_the_open_jobs_of_its_owner() {
    let Some(place) = Place::fresh() else { return };
    let (one, two) = two(&place).await;
    one.begins(platform(1)).await;
    let ended = one.begins(platform(2)).await;
    one.finishes(ended).await;
    two.begins(platform(3)).await;
    silence(&place, &one, 50);
    silence(&place, &two, 50);
    let beats = "SELECT owner_heartbeat_at FROM dag_jobs ORDER BY job_id";
    let before = place.query(beats);
    one.store.heartbeat(one.epoch, json!({})).await.unwrap();
    let after = place.query(beats);
    let touched: Vec<bool> = before.iter().zip(&after).map(|(old, new)| old != new).collect();
    assert_eq!(touched, [true, false, false]);
}

// B-040, X-102, X-107, X-115: silence is an interval by the server's clock, and the next look is due
// when the next owner would have been silent for too long.
#[tokio::test]
async fn an_owner_is_dead_after_so_much_silence_and_not_before() {
    let Some(place) = Place::fresh() else { return };
    let (one, two) = two(&place).await;
    one.begins(header(1)).await;
    silence(&place, &one, 100);
    let early = two.store.reclaim(two.epoch, Interval::from_secs(120), 10).await.unwrap();
    assert_eq!(early.runs, []);
    let next_in = early.next_in.unwrap().as_millis();
    assert!((15_000..=20_000).contains(&next_in), "{next_in}");
    let late = two.store.reclaim(two.epoch, Interval::from_secs(90), 10).await.unwrap();
    assert_eq!(late.runs, [run_id(1)]);
    assert_eq!(late.next_in, None, "nobody else lives");
    assert_eq!(place.query("SELECT state FROM instance WHERE id = 'one'"), ["dead"]);
}

// a commit under way is either before the takeover, or refused whole.
#[tokio::test]
async fn a_takeover_waits_for_the_commit_that_is_under_way() {
    let Some(place) = Place::fresh() else { return };
    let (one, two) = two(&place).await;
    one.begins(header(1)).await;
    silence(&place, &one, 100);
    // A commit of the silent instance has passed its fence, and is not at its end.
    let under_way = session(&place).await;
    let epoch = i64::try_from(one.epoch.0).unwrap();
    under_way.batch_execute("BEGIN").await.unwrap();
    under_way.query("SELECT fence($1)", &[&epoch]).await.unwrap();

    let (store, mine) = (Arc::clone(&two.store), two.epoch);
    let takeover =
        tokio::spawn(async move { store.reclaim(mine, Interval::from_secs(90), 10).await });
    let watcher = session(&place).await;
    while watcher.query_one(WAITING, &[]).await.unwrap().get::<_, i64>(0) == 0 {
        assert!(!takeover.is_finished(), "the takeover did not wait");
    }
    under_way.batch_execute("COMMIT").await.unwrap();
    assert_eq!(takeover.await.unwrap().unwrap().runs, [run_id(1)]);
    let refused = under_way.query("SELECT fence($1)", &[&epoch]).await.unwrap_err();
    assert_eq!(refused.code().map(tokio_postgres::error::SqlState::code), Some("SW001"));
}

// nobody waits for a process that was stopped in the middle of a commit.
#[tokio::test]
async fn a_commit_that_its_process_left_behind_ends_by_itself() {
    let Some(place) = Place::fresh() else { return };
    let (one, two) = two(&place).await;
    one.begins(header(1)).await;
    silence(&place, &one, 100);
    let left_behind = session(&place).await;
    let idle = "SET idle_in_transaction_session_timeout = 100; BEGIN";
    left_behind.batch_execute(idle).await.unwrap();
    let epoch = i64::try_from(one.epoch.0).unwrap();
    left_behind.query("SELECT fence($1)", &[&epoch]).await.unwrap();
    let taken = two.store.reclaim(two.epoch, Interval::from_secs(90), 10).await.unwrap();
    assert_eq!(taken.runs, [run_id(1)]);
}

// a process that stands still while it waits to take over comes to the end of it on the
// server, without another word from it; or it would keep everybody from declaring anybody dead.
#[test]
fn a_process_that_stands_still_in_a_takeover_keeps_nobody_from_theirs() {
    const SILENCE: Interval = Interval::from_secs(90);
    let Some(place) = Place::fresh() else { return };
    let named = async |name: &str| {
        // Only the server's own patience with an idle process could help, and it has a lot of that.
        let options = Options { idle_timeout: Duration::from_secs(3_600), ..Options::default() };
        let store = PostgresStore::open(&place.url, options).await.unwrap();
        World::named(&Subject { store: Arc::new(store), reopen: None }, name).await
    };
    let awake = tokio::runtime::Runtime::new().unwrap();
    let one = awake.block_on(named("one"));
    awake.block_on(one.begins(header(1)));
    silence(&place, &one, 100);
    let (under_way, watcher) =
        awake.block_on(async { (session(&place).await, session(&place).await) });
    let commit = format!("BEGIN; SELECT fence({})", one.epoch.0);
    awake.block_on(under_way.batch_execute(&commit)).unwrap();

    // Nothing of this one moves unless it is driven, as if the process was stopped.
    let frozen = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let two = frozen.block_on(named("two"));
    let mut takeover = two.store.reclaim(two.epoch, SILENCE, 10);
    let waits = awake.spawn(async move {
        while watcher.query_one(WAITING, &[]).await.unwrap().get::<_, i64>(0) == 0 {}
    });
    frozen.block_on(async {
        tokio::select! {
            early = &mut takeover => panic!("the takeover did not wait: {early:?}"),
            seen = waits => seen.unwrap(),
        }
    });

    awake.block_on(under_way.batch_execute("COMMIT")).unwrap();
    let three = awake.block_on(named("three"));
    awake.block_on(three.store.reclaim(three.epoch, SILENCE, 10)).unwrap();
    assert_eq!(place.query("SELECT state FROM instance WHERE id = 'one'"), ["dead"]);
    silence(&place, &two, 100);
    let taken = awake.block_on(three.store.reclaim(three.epoch, SILENCE, 10)).unwrap();
    assert_eq!(taken.runs, [run_id(1)], "from the one that stands still, which had it last");
}

// B-060: what each instance owns is counted with every change of owner, never by walking the runs.
#[tokio::test]
async fn counts_follow_the_owner() {
    let Some(place) = Place::fresh() else { return };
    let (one, two) = two(&place).await;
    for number in 1..=4 {
        one.begins(header(number)).await;
    }
    let ended = one.run(4).await;
    one.finishes(ended).await;
    let owned = async || {
        let instances = one.store.instances().await.unwrap();
        instances.iter().map(|instance| instance.owned).collect::<Vec<_>>()
    };
    assert_eq!(owned().await, [3, 0]);
    one.store.hand_over(one.epoch, vec![run_id(1)], two.epoch).await.unwrap();
    assert_eq!(owned().await, [2, 1]);
    let free = Group { free: true, ..Group::of(one.epoch, vec![item(started(header(5)))]) };
    one.store.commit(free).await.unwrap();
    assert_eq!(owned().await, [2, 1], "nobody's");
    one.store.retire(one.epoch).await.unwrap();
    two.store.reclaim(two.epoch, LONG, 10).await.unwrap();
    assert_eq!(owned().await, [0, 4]);
    assert_eq!(two.store.figures().await.unwrap().runs_open, 4);
}

// D-050: a cap counts the runs of all instances.
#[tokio::test]
async fn a_tenant_is_full_whoever_filled_it() {
    let Some(place) = Place::fresh() else { return };
    let (one, two) = two(&place).await;
    let capped = |number| item(Create { tenant_cap: Some(10), ..started(header(number)) });
    let mut groups = tokio::task::JoinSet::new();
    for number in 0..20 {
        let world = if number % 2 == 0 { &one } else { &two };
        let (store, group) =
            (Arc::clone(&world.store), Group::of(world.epoch, vec![capped(number)]));
        groups.spawn(async move { store.commit(group).await.unwrap().remove(0) });
    }
    let verdicts = groups.join_all().await;
    assert_eq!(verdicts.iter().filter(|verdict| **verdict == Verdict::Done).count(), 10);
    let full = |verdict: &&Verdict| **verdict == Verdict::TenantFull { open: 10 };
    assert_eq!(verdicts.iter().filter(full).count(), 10);
}

// B-042, X-099: insert, or return the existing one; never an error, in whatever order they come.
#[tokio::test]
async fn a_key_has_one_holder_however_many_instances_want_it() {
    let Some(place) = Place::fresh() else { return };
    let (one, two) = two(&place).await;
    let wants = |world: &World, first: u64, keys: Vec<u8>| {
        let keyed = |(number, name): (u64, u8)| {
            item(Create { key: Some(key(name, b'r')), ..started(header(first + number)) })
        };
        let items: Vec<Item> = (0..).zip(keys).map(keyed).collect();
        let (store, group) = (Arc::clone(&world.store), Group::of(world.epoch, items));
        tokio::spawn(async move { store.commit(group).await })
    };
    for round in 0..10 {
        let base = 1_000 * (round + 1);
        let names: Vec<u8> = (0..20).map(|name| name + 20 * u8::try_from(round).unwrap()).collect();
        let backwards = names.iter().rev().copied().collect();
        let (mine, theirs) = (wants(&one, base, names), wants(&two, base + 500, backwards));
        let mine = mine.await.unwrap().unwrap();
        let theirs = theirs.await.unwrap().unwrap();
        for (place, verdict) in mine.iter().enumerate() {
            // The other one asked in the opposite order.
            match (verdict, &theirs[19 - place]) {
                (Verdict::Done, Verdict::Duplicate(holder)) => {
                    assert_eq!(holder.run, run_id(base + place as u64));
                }
                (Verdict::Duplicate(holder), Verdict::Done) => {
                    assert_eq!(holder.run, run_id(base + 500 + 19 - place as u64));
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

#[tokio::test]
async fn an_instance_that_ended_long_ago_is_forgotten_when_it_owns_nothing() {
    let Some(place) = Place::fresh() else { return };
    let (one, two) = two(&place).await;
    one.begins(header(1)).await;
    let free = Group { free: true, ..Group::of(one.epoch, vec![item(started(header(2)))]) };
    one.store.commit(free).await.unwrap();
    one.store.retire(one.epoch).await.unwrap();
    place.query("UPDATE instance SET ended_at = ended_at - interval '2 days' WHERE id = 'one'");
    let names = "SELECT id FROM instance WHERE epoch <> 0 ORDER BY epoch";
    two.store.open_epoch("three").await.unwrap();
    assert_eq!(place.query(names), ["one", "two", "three"], "it still owns something");
    two.store.reclaim(two.epoch, LONG, 10).await.unwrap();
    two.store.open_epoch("four").await.unwrap();
    assert_eq!(place.query(names), ["two", "three", "four"]);
    let counts =
        place.query("SELECT epoch, sum(open) FROM tenant_load GROUP BY epoch ORDER BY epoch");
    assert_eq!(counts, ["0|0".to_owned(), format!("{}|2", two.epoch.0)]);
    assert_eq!(two.store.figures().await.unwrap().runs_open, 2);
}

// X-103, B-074: whoever was declared dead changes nothing, in any of its ways to write.
#[tokio::test]
async fn a_zombie_changes_nothing() {
    let Some(place) = Place::fresh() else { return };
    let (one, two) = two(&place).await;
    let run = one.begins(header(1)).await;
    silence(&place, &one, 100);
    two.store.reclaim(two.epoch, Interval::from_secs(90), 10).await.unwrap();
    let before = place.query("SELECT * FROM run");
    let advance = Item::Advance(Box::new(decided(&run, &success(&run))));
    let created = item(started(header(2)));
    for items in [vec![advance], vec![created], vec![]] {
        let refused = one.store.commit(Group::of(one.epoch, items)).await;
        assert!(
            matches!(refused, Err(StoreError::Fenced { current, .. }) if current == two.epoch.0)
        );
    }
    let given = one.store.hand_over(one.epoch, vec![run.id()], two.epoch).await;
    assert!(matches!(given, Err(StoreError::Fenced { .. })), "{given:?}");
    assert!(one.store.heartbeat(one.epoch, json!({})).await.is_err());
    assert_eq!(place.query("SELECT * FROM run"), before);
    let instances = two.store.instances().await.unwrap();
    assert_eq!(instances[0].state, InstanceState::Dead);
}

// A worker may say anything; PostgreSQL has no place for the character of code 0.
#[tokio::test]
async fn text_that_postgresql_cannot_hold_costs_no_commit() {
    let Some(place) = Place::fresh() else { return };
    let (one, _) = two(&place).await;
    let correlation_id = Some("a\0b".to_owned());
    one.begins(Header { correlation_id, actor: "ada\0".to_owned(), ..platform(1) }).await;
    let rows = place.query("SELECT correlation_id, submitted_by FROM dag_jobs");
    assert_eq!(rows, ["a\u{FFFD}b|ada\u{FFFD}"]);
}
