//! The same on PostgreSQL: two instances that are frozen and killed while their triggers fire.

mod pair;

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};
use stepwell_connectors::egress::{SignedHeaders, secret_bytes, sign};
use stepwell_core::duration::Interval;
use stepwell_core::id::RunId;
use stepwell_engine::{Engine, EngineError, Fired, HookCall, TriggerError};

use self::pair::{PACE, Pair, look_until};
use super::world::{schedule, tenant};

/// Far longer than it takes to miss an instance, even on a machine that has other things to do, and far
/// shorter than the time for which one of them is the one that looks.
const LATE_MAX: Interval = Interval::from_secs(12);

// Issue 6: two instances never fire one trigger twice, and none is missed, whoever is frozen or killed.
// Whoever is declared dead loses its triggers with its runs.
#[tokio::test]
async fn two_instances_on_postgresql_fire_every_second_once() {
    let Some(mut pair) = Pair::start().await else { return };
    let all = json!({"overlap": "allow", "catch_up_mode": "all"});
    pair.put(schedule("* * * * * *", "UTC", all)).await;
    pair.fires("nightly", 2).await;
    for _ in 0..2 {
        let frozen = pair.freeze_holder("triggers").await;
        pair.fires("nightly", 3).await;
        drop(frozen);
        pair.fires("nightly", 2).await;
    }
    pair.kill_holder("triggers").await;
    pair.fires("nightly", 3).await;

    let firings = pair.firings("nightly").await;
    let meant_for: Vec<i64> =
        firings.iter().filter_map(|it| it.scheduled_for).map(|it| it.as_millis()).collect();
    let gaps: BTreeSet<i64> = meant_for.windows(2).map(|two| two[1] - two[0]).collect();
    assert_eq!(gaps, BTreeSet::from([1_000]), "every second once: {firings:?}");
    let late = firings.iter().filter_map(|it| Some(it.at.since(it.scheduled_for?))).max();
    assert!(late.is_some_and(|late| late < LATE_MAX), "the latest was {late:?} late");
    pair.judge(&["nightly"]).await;
}

const BODY: &[u8] = br#"{"order": 7}"#;

/// Sends a request, and sends it again while it is answered with a fault.
async fn send(engine: Engine, secret: Vec<u8>, id: String) -> Fired {
    let mut pace = tokio::time::interval(PACE);
    loop {
        pace.tick().await;
        let seconds = engine.now().as_millis() / 1000;
        let (signature, timestamp) = (sign(&secret, &id, seconds, BODY), seconds.to_string());
        let signed = SignedHeaders { id: &id, timestamp: &timestamp, signature: &signature };
        let call = HookCall { signed, headers: &[], body: BODY };
        match engine.hook(&tenant(), "orders", call).await {
            Err(TriggerError::Engine(
                EngineError::Busy | EngineError::Stopped | EngineError::Unavailable(_),
            )) => {}
            answer => return answer.expect("it is accepted"),
        }
    }
}

/// Sends the same request to both at once.
async fn send_to_both(pair: &Pair, secret: &[u8], id: &str) -> [Fired; 2] {
    let [one, two] = [0, 1].map(|place| {
        let instance = &pair.instances[place];
        instance.does(send(instance.engine.clone(), secret.to_vec(), id.to_owned()))
    });
    [one.await.expect("answered"), two.await.expect("answered")]
}

// Issue 6: the same delivery makes one job, whichever instance it reaches, and however often.
#[tokio::test]
async fn a_request_that_reaches_two_instances_on_postgresql_makes_one_job() {
    let Some(mut pair) = Pair::start().await else { return };
    // Something that one of them looks after, so that there is a holder to be killed.
    pair.put(schedule("0 0 1 1 *", "UTC", json!({}))).await;
    let document = json!({"name": "orders", "kind": "webhook", "workflow_id": "report"});
    let secret = secret_bytes(&pair.put(document).await.secret.expect("shown")).expect("one");
    for number in 0..20 {
        let [one, two] = send_to_both(&pair, &secret, &format!("msg_{number}")).await;
        assert_eq!(one.firing.run, two.firing.run);
        assert_eq!(u8::from(one.repeated) + u8::from(two.repeated), 1, "one of them has made it");
    }

    // One of them freezes over it, and is declared dead; the sender tries the other.
    let frozen = pair.freeze_holder("triggers").await;
    let sent: Vec<_> = pair
        .instances
        .iter()
        .map(|it| it.does(send(it.engine.clone(), secret.clone(), "msg_frozen".to_owned())))
        .collect();
    look_until(async || sent.iter().any(|sent| sent.is_finished()).then_some(())).await;
    drop(frozen);
    let mut runs: BTreeSet<Option<RunId>> = BTreeSet::new();
    for sent in sent {
        runs.insert(sent.await.expect("answered").firing.run);
    }
    assert_eq!(runs.len(), 1, "{runs:?}");

    // A secret that one of them has replaced is replaced for the other, from that moment on.
    let engine = &pair.instances[0].engine;
    let rotated = engine.rotate_trigger_secret(&tenant(), "orders", Interval::ZERO, "tester").await;
    let secret = secret_bytes(&rotated.expect("rotated").secret).expect("one");
    pair.kill_holder("triggers").await;
    let again = send_to_both(&pair, &secret, "msg_0").await;
    assert!(again.iter().all(|fired| fired.repeated), "it was made long ago: {again:?}");
    assert_eq!(pair.firings("orders").await.len(), 21);
    pair.judge(&["orders"]).await;
}

fn inbox(pair: &Pair, name: &str, more: Value) -> Value {
    let directory = pair.directory().join(name);
    fs::create_dir(&directory).expect("there is room");
    let mut files = json!({"directory": directory, "glob": "*.csv", "settle": "0s"});
    if let (Value::Object(files), Value::Object(more)) = (&mut files, more) {
        files.extend(more);
    }
    json!({"name": name, "kind": "file_drop", "workflow_id": "report", "file_drop": files})
}

// Issue 6: the same file, seen by both, makes one job, whether it is moved or remembered.
#[tokio::test]
async fn a_file_that_two_instances_on_postgresql_see_makes_one_job() {
    const FILES: usize = 8;
    let Some(mut pair) = Pair::start().await else { return };
    let names = ["moved", "remembered"];
    pair.put(inbox(&pair, "moved", json!({"after": "move"}))).await;
    pair.put(inbox(&pair, "remembered", json!({"after": "remember"}))).await;
    let drop_files = |directory: &std::path::Path, round: usize| {
        for (name, number) in names.iter().flat_map(|name| (0..FILES).map(move |it| (name, it))) {
            let path = directory.join(name).join(format!("{round}-{number}.csv"));
            fs::write(path, "a,b\n").expect("there is room");
        }
    };
    let directory = pair.directory();
    for round in 0..4 {
        let frozen = match round {
            1 | 2 => Some(pair.freeze_holder("file drops").await),
            _ => None,
        };
        drop_files(&directory, round);
        if round == 3 {
            pair.kill_holder("file drops").await;
        }
        for name in names {
            pair.has_fired(name, FILES * (round + 1)).await;
        }
        drop(frozen);
    }
    for name in names {
        assert_eq!(pair.firings(name).await.len(), FILES * 4, "{name}");
    }
    let processed = fs::read_dir(directory.join("moved").join("processed"));
    assert_eq!(processed.expect("it is there").count(), FILES * 4, "each was moved once");
    pair.judge(&names).await;
}
