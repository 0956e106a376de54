//! A cluster is real, keeps what was committed, and leaves nothing behind.

use std::process::{Command, Stdio};

use stepwell_testing::postgres::{self, Stop};

#[test]
fn every_test_gets_a_database_of_its_own() {
    let Ok(server) = postgres::server() else { return };
    let (first, second) = (server.database("Same name"), server.database("Same name"));
    assert_ne!(first, second);
    server.query(&first, "create table only_here (id integer)");
    assert_eq!(server.query(&first, "select to_regclass('only_here')"), ["only_here"]);
    assert_eq!(server.query(&second, "select to_regclass('only_here')"), [""]);
    assert_eq!(server.query(&first, "show fsync"), ["on"]);
}

#[test]
fn a_cluster_that_was_stopped_like_by_a_power_cut_has_what_was_committed() {
    let Ok(cluster) = postgres::cluster() else { return };
    let (server, before) = (cluster.server(), cluster.pid());
    let url = server.database("restart");
    server.query(&url, "create table kept as select generate_series(1, 1000) as id");
    for how in [Stop::AtOnce, Stop::Orderly] {
        cluster.restart(how);
        assert_eq!(server.query(&url, "select count(*) from kept"), ["1000"]);
    }
    assert!(before.is_some() && cluster.pid() != before, "another process serves the same port");
}

#[test]
fn a_cluster_ends_with_whoever_started_it() {
    let Ok(cluster) = postgres::cluster() else { return };
    let pid = cluster.pid().expect("it runs").to_string();
    let lives = || {
        let mut kill = Command::new("kill");
        kill.args(["-s", "0", &pid]).stderr(Stdio::null()).status().expect("kill runs").success()
    };
    assert!(lives());
    drop(cluster);
    assert!(!lives());
}
