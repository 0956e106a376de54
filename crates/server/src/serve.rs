//! Serves a router on a socket until told to stop.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tower::ServiceExt;

/// A client must have sent the head of a request by then, the first as well as the next.
const HEAD_PATIENCE: Duration = Duration::from_secs(10);

/// Requests under way at a stop have this long to end.
const STOP_PATIENCE: Duration = Duration::from_secs(10);

/// Connections beyond this wait in the kernel's queue.
const CONNECTIONS_MAX: usize = 1_000;

/// Tells a request that the server is stopping. Waits that have no end of their own listen to it.
#[derive(Clone, Debug)]
pub(crate) struct Stopping(watch::Receiver<bool>);

impl Stopping {
    /// Resolves when the server is stopping; never for a request that came without a server.
    pub(crate) async fn wait(stopping: Option<Self>) {
        match stopping {
            Some(Self(mut stopping)) => {
                // A sender that is gone has stopped too.
                let _ = stopping.wait_for(|stopping| *stopping).await;
            }
            None => std::future::pending().await,
        }
    }
}

/// Serves until `shutdown` resolves; then accepts nothing more, ends live streams and long polls at
/// once, and gives other requests ten seconds.
pub async fn serve(listener: TcpListener, router: Router, shutdown: impl Future<Output = ()>) {
    let (stop, stopping) = watch::channel(false);
    let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let mut connections = JoinSet::new();
    let mut shutdown = std::pin::pin!(shutdown);
    loop {
        let accepted = tokio::select! {
            () = &mut shutdown => break,
            accepted = accept(&listener, &room) => accepted,
            Some(_) = connections.join_next() => continue,
        };
        let (stream, permit) = accepted;
        connections.spawn(connection(stream, router.clone(), stopping.clone(), permit));
    }
    drop(listener);
    stop.send_replace(true);
    let all = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(STOP_PATIENCE, all).await.is_err() {
        tracing::warn!(connections = connections.len(), "connections_cut_off");
    }
}

async fn accept(
    listener: &TcpListener,
    room: &Arc<Semaphore>,
) -> (TcpStream, OwnedSemaphorePermit) {
    let permit = Arc::clone(room).acquire_owned().await.expect("the semaphore is never closed");
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return (stream, permit),
            Err(error) => {
                // Out of file descriptors, mostly: it passes when others are closed.
                tracing::warn!(%error, "connection_not_accepted");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

async fn connection(
    stream: TcpStream,
    router: Router,
    stopping: watch::Receiver<bool>,
    _permit: OwnedSemaphorePermit,
) {
    // Answers are small and awaited: holding them back to fill a packet only costs time.
    let _ = stream.set_nodelay(true);
    let told = Stopping(stopping.clone());
    let service = service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
        let mut request: Request = request.map(axum::body::Body::new);
        request.extensions_mut().insert(told.clone());
        router.clone().oneshot(request)
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD_PATIENCE);
    let mut served = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), service));
    let ended = tokio::select! {
        ended = &mut served => ended,
        () = Stopping::wait(Some(Stopping(stopping))) => {
            served.as_mut().graceful_shutdown();
            served.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "connection_ended");
    }
}
