//! A server that stops, starts again, freezes, or wants to be sure who comes: each on one of its own.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use stepwell_store::conformance::Subject;
use stepwell_store::conformance::world::{World, all, header, item, started, success};
use stepwell_store::postgres::{Options, PostgresStore};
use stepwell_store::{Filter, Group, Signal, Store, StoreError};
use stepwell_testing::postgres::{self, Cluster, Stop};

use crate::postgres::with_schema;

async fn opened(url: &str, options: Options) -> (Arc<PostgresStore>, World) {
    let store = Arc::new(PostgresStore::open(url, options).await.unwrap());
    let world = World::of(&Subject { store: store.clone(), reopen: None }).await;
    (store, world)
}

fn run(program: &str, folder: &Path, arguments: &[&str]) {
    let done = Command::new(program).args(arguments).current_dir(folder).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{program} {arguments:?}: {said}");
}

// B-074: the server is restarted in the middle: clients recover, and nothing that was answered is lost.
#[tokio::test]
async fn a_restart_of_the_server_is_outlived() {
    let Ok(cluster) = postgres::cluster() else { return };
    let url = cluster.server().database("restart");
    let (store, world) = opened(&url, Options::default()).await;
    let mut ear = store.listen(world.epoch).await.unwrap();
    let run = world.begins(header(1)).await;

    cluster.stop(Stop::AtOnce);
    let group = Group::of(world.epoch, vec![item(started(header(2)))]);
    let refused = store.commit(group.clone()).await;
    assert!(matches!(refused, Err(StoreError::Unavailable { .. })), "{refused:?}");
    let refused = store.load(vec![run.id()]).await;
    assert!(matches!(refused, Err(StoreError::Unavailable { .. })), "{refused:?}");

    cluster.start_again();
    store.commit(group).await.expect("the same commit again, unchanged");
    world.moves(&run, &success(&run)).await;
    assert_eq!(world.lists(Filter::default(), all()).await.len(), 2);
    // Words may have been missed meanwhile, so whoever listens is told to look at everything.
    assert_eq!(ear.recv().await, Some(Signal::LookAgain));
    store.tell(stepwell_store::Epoch(999), Signal::Published).await.unwrap();
    assert_eq!(ear.recv().await, Some(Signal::Published), "and hears again");
}

#[tokio::test]
async fn whoever_cannot_connect_is_told_what_to_look_at() {
    let Ok(cluster) = postgres::cluster() else { return };
    let url = cluster.server().database("doors");
    let (_, password) = url.split_once("stepwell:").unwrap();
    let (password, _) = password.split_once('@').unwrap();
    let wrong = url.replace(password, "wrong");
    let told = PostgresStore::open(&wrong, Options::default()).await.unwrap_err().to_string();
    assert!(told.contains("check user, password and database"), "{told}");
    assert!(!told.contains("wrong"), "{told}");
    let nowhere = url.replace("doors", "nowhere");
    let told = PostgresStore::open(&nowhere, Options::default()).await.unwrap_err();
    assert!(matches!(told, StoreError::Refused { .. }), "{told:?}");
    cluster.stop(Stop::Orderly);
    let told = PostgresStore::open(&url, Options::default()).await.unwrap_err();
    assert!(matches!(told, StoreError::Unavailable { .. }), "{told:?}");
    assert!(told.to_string().contains("cannot be reached (Connection refused"), "{told}");
    assert!(told.to_string().contains("start it, or name another"), "{told}");
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_not_waited_for() {
    let Ok(cluster) = postgres::cluster() else { return };
    let url = cluster.server().database("frozen");
    let short = Duration::from_millis(300);
    let options = Options { statement_timeout: short, lock_timeout: short, ..Options::default() };
    let (store, world) = opened(&url, options).await;
    let run = world.begins(header(1)).await;
    let sessions = "SELECT pid FROM pg_stat_activity WHERE application_name = 'stepwell'";
    let sessions = cluster.server().query(&url, sessions);
    let signal = |name: &str| {
        for session in &sessions {
            run_kill(name, session);
        }
    };
    signal("-STOP");
    let refused = store.commit(Group::of(world.epoch, vec![item(started(header(2)))])).await;
    let told = refused.unwrap_err().to_string();
    assert!(told.contains("PostgreSQL does not answer"), "{told}");
    // Another session has what the frozen one had, once that is over: the fence is shared.
    world.moves(&run, &success(&run)).await;
    signal("-CONT");
}

fn run_kill(signal: &str, pid: &str) {
    run("kill", Path::new("/"), &[signal, pid]);
}

/// Certificates for the server at 127.0.0.1, and the authority that vouches for them.
fn certify(cluster: &Cluster, folder: &Path) {
    let database = cluster.server().maintenance_url();
    let data = cluster.server().query(&database, "SHOW data_directory").remove(0);
    run("openssl", folder, &["ecparam", "-name", "prime256v1", "-genkey", "-out", "root.key"]);
    let root = ["req", "-x509", "-key", "root.key", "-subj", "/CN=Test root", "-out", "root.pem"];
    run("openssl", folder, &root);
    run("openssl", folder, &["ecparam", "-name", "prime256v1", "-genkey", "-out", "server.key"]);
    let asked = ["req", "-new", "-key", "server.key", "-subj", "/CN=server", "-out", "server.csr"];
    run("openssl", folder, &asked);
    std::fs::write(folder.join("names"), "subjectAltName=IP:127.0.0.1").unwrap();
    let mut signed = vec!["x509", "-req", "-in", "server.csr", "-CA", "root.pem", "-CAkey"];
    signed.extend(["root.key", "-CAcreateserial", "-extfile", "names", "-out", "server.pem"]);
    run("openssl", folder, &signed);

    let owner = std::fs::metadata(&data).unwrap();
    for name in ["server.key", "server.pem"] {
        let there = Path::new(&data).join(name);
        std::fs::copy(folder.join(name), &there).unwrap();
        std::os::unix::fs::chown(&there, Some(owner.uid()), Some(owner.gid())).unwrap();
        run("chmod", folder, &["600", there.to_str().unwrap()]);
    }
    for setting in ["ssl = on", "ssl_cert_file = 'server.pem'", "ssl_key_file = 'server.key'"] {
        cluster.server().query(&database, &format!("ALTER SYSTEM SET {setting}"));
    }
    cluster.restart(Stop::Orderly);
}

#[tokio::test]
async fn a_connection_is_encrypted_and_the_server_proves_who_it_is() {
    let Ok(cluster) = postgres::cluster() else { return };
    if Command::new("openssl").arg("version").output().is_err() {
        eprintln!("skipped: there is no openssl to make certificates with");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    certify(&cluster, folder.path());
    let url = with_schema(&cluster.server().database("tls"), "secured");
    let open = async |parameters: &str| {
        PostgresStore::open(&format!("{url}&{parameters}"), Options::default()).await
    };
    let root = folder.path().join("root.pem").display().to_string();
    let verified = open(&format!("sslmode=verify-full&sslrootcert={root}")).await.unwrap();
    let encrypted = "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
                      WHERE application_name = 'stepwell'";
    let plain = url.split_once('?').unwrap().0;
    assert_eq!(cluster.server().query(plain, encrypted), ["t"]);
    verified.probe().await.unwrap();
    open("sslmode=require").await.unwrap();

    let unknown = open("sslmode=verify-full").await.unwrap_err();
    assert!(unknown.to_string().contains("UnknownIssuer"), "{unknown}");
    let other_name = url.replace("127.0.0.1", "localhost");
    let other_name = format!("{other_name}&sslmode=verify-full&sslrootcert={root}");
    assert!(PostgresStore::open(&other_name, Options::default()).await.is_err());
    let missing = open("sslmode=verify-full&sslrootcert=/nowhere.pem").await.unwrap_err();
    assert!(missing.to_string().contains("sslrootcert /nowhere.pem cannot be used"), "{missing}");
}
