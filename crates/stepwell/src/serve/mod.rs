//! `stepwell serve`: runs the server until it is told to stop.

mod announce;
mod log;
mod memory;
mod parts;
pub(crate) mod signal;
mod store;
mod webhook_secret;

use std::net::SocketAddr;

pub(crate) use parts::{Plan, Running};
#[cfg(feature = "postgres")]
pub(crate) use store::store_failure;
#[cfg(feature = "postgres")]
pub(crate) use webhook_secret::carry as carry_webhook_secret;

use crate::config::{Config, StorePlace};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::session::Session;
use signal::Signals;

pub(crate) async fn run(session: &Session) -> Result<Exit, Failure> {
    let config = &session.config;
    log::start(config)?;
    check_roles(config)?;
    check_address(config)?;
    let mut signals = Signals::new();
    let running = Running::start(Plan::of(config)?).await?;
    announce::started(session, &running)?;
    tokio::select! {
        () = signals.next() => {}
        () = running.engine.until_stopping() => {
            let what = "another process has taken the store over; this one stops";
            return Err(Failure::new(Exit::Refused, "fenced", what)
                .next("run one server for each data directory"));
        }
    }
    tracing::info!("stopping");
    tokio::select! {
        stopped = tokio::time::timeout(parts::STOP_MAX, running.stop()) => match stopped {
            Ok(()) => {
                tracing::info!("stopped");
                Ok(Exit::Ok)
            }
            // Nothing is lost: what was accepted is committed, and leases fence the rest.
            Err(_) => {
                let what = format!("not stopped within {} s; ended anyway", parts::STOP_MAX.as_secs());
                Err(Failure::new(Exit::Failure, "stop_too_slow", what))
            }
        },
        () = signals.next() => Ok(Exit::Interrupted),
    }
}

/// Half of a server would accept commands that nobody carries out.
fn check_roles(config: &Config) -> Result<(), Failure> {
    let roles: Vec<String> = config.list("roles");
    let missing = ["api", "engine"].into_iter().find(|role| !roles.iter().any(|it| it == role));
    match (missing, config.store()) {
        (None, _) => Ok(()),
        (Some(_), StorePlace::Postgres(_)) if !roles.is_empty() => Ok(()),
        (Some(role), _) => Err(Failure::usage(format!(
            "the role {role} is missing: with SQLite one process must have both, api and engine"
        ))
        .next("leave --roles out, or share the work between processes on PostgreSQL with --store")),
    }
}

/// Tokens travel in the clear over plain HTTP, so nothing but this machine may listen in.
fn check_address(config: &Config) -> Result<(), Failure> {
    let listen: SocketAddr = config.text("listen").parse().expect("settings are checked");
    if listen.ip().is_loopback() || config.is_on("behind_proxy") {
        return Ok(());
    }
    let what = format!(
        "{listen} can be reached from other machines, and this server speaks plain HTTP: tokens \
         and payloads would travel unencrypted"
    );
    Err(Failure::usage(what)
        .next("put a proxy that does TLS in front and give --behind-proxy, or listen on 127.0.0.1"))
}
