//! The same on PostgreSQL, where the tools of the platform read tables of their own shape.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use axum::http::StatusCode;
use serde_json::{Value, json};
use stepwell_connectors::clock::ManualClock;
use stepwell_store::postgres::{Options, PostgresStore};
use stepwell_testing::postgres::{self, Server};

use super::{DIAMOND, job, show, submit};
use crate::site::{Site, get, post};

/// A site on a database of its own; `None` where there is no PostgreSQL.
async fn site() -> Option<(Site, &'static Server, String)> {
    let server = postgres::server().ok()?;
    let url = server.database("platform");
    let store = PostgresStore::open(&url, Options::default()).await.unwrap();
    // Its clock is the server's own, so tokens must be made in this age.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let clock = Arc::new(ManualClock::new(i64::try_from(now.as_millis()).unwrap()));
    let site = Site::sharing(Arc::new(store), clock).await;
    site.publish(DIAMOND).await;
    Some((site, server, url))
}

// B-018, B-022, B-023, B-029, B-037: the views have the columns of the tables that were there before.
#[tokio::test]
async fn a_job_on_postgresql_is_seen_by_the_tools_of_the_platform() {
    let Some((site, server, url)) = site().await else { return };
    let query =
        |sql: &str| server.query(&url, &format!("SET search_path = stepwell, public; {sql}"));
    submit(&site, &json!({"correlation_id": "c-1"})).await;
    let job = job(&site, "correlation_id=c-1").await;
    let (id, owner) = (job["job_id"].as_str().unwrap(), job["owner_id"].as_str().unwrap());
    assert_eq!(owner, site.engine.stats().owner_id);
    let columns = "job_id, workflow_id, status, owner_id, submitted_by, correlation_id, version";
    assert_eq!(
        query(&format!("SELECT {columns}, input_params ->> 'blob_name' FROM dag_jobs")),
        [format!("{id}|raster_ingest|running|{owner}|platform-gateway|c-1|1|data/file.tif")]
    );
    let types = "SELECT column_name, data_type, character_maximum_length \
                   FROM information_schema.columns \
                  WHERE table_name = 'dag_jobs' AND column_name LIKE 'owner%' ORDER BY 1";
    assert_eq!(
        query(types),
        ["owner_heartbeat_at|timestamp with time zone|", "owner_id|character varying|64"]
    );
    let directive = site.lease("io").await;
    site.report(&directive, "SUCCEEDED").await;
    let states = query("SELECT node_id, status FROM dag_node_states ORDER BY node_id");
    assert_eq!(states, ["fetch|completed", "stats|dispatched", "tile|dispatched"]);
    let nodes = show(&site, id).await["nodes"].take();
    let shown: Vec<&Value> = nodes.as_array().unwrap().iter().map(|it| &it["status"]).collect();
    assert_eq!(shown, ["completed", "dispatched", "dispatched", "pending"]);
    let results = query("SELECT node_id, success FROM dag_task_results");
    assert_eq!(results, ["fetch|t"]);
}

// B-026, B-027, B-028: additive, repeatable, and only when confirmed.
#[tokio::test]
async fn the_schema_on_postgresql_is_read_for_review_and_applied_once() {
    let Some((site, server, url)) = site().await else { return };
    submit(&site, &json!({"correlation_id": "c-1"})).await;
    job(&site, "correlation_id=c-1").await;
    let ddl = site.ask(get("/api/v1/bootstrap/ddl")).await.text;
    for part in ["IF NOT EXISTS", "dag_jobs", "dag_node_states", "dag_task_results", "varchar(64)"]
    {
        assert!(ddl.contains(part), "{part}");
    }
    site.ask(post("/api/v1/bootstrap/migrate")).await.refused(400, "malformed_parameter");
    let reply = site.ask(post("/api/v1/bootstrap/migrate?confirm=yes")).await;
    assert_eq!(reply.expect(StatusCode::OK), json!({"store": "postgres", "applied": []}));
    // What was saved for review can be applied by hand as well, and loses nothing.
    server.query(&url, &format!("SET search_path = stepwell, public; {ddl}"));
    assert_eq!(job(&site, "correlation_id=c-1").await["status"], "running");
}
