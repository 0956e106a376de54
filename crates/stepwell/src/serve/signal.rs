//! Signals that ask the process to stop.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Resolves at the first SIGTERM or SIGINT.
pub(crate) async fn first() {
    Signals::new().next().await;
}

/// SIGTERM and SIGINT, as often as they come.
pub(crate) struct Signals {
    terminate: Option<Signal>,
    interrupt: Option<Signal>,
}

impl Signals {
    pub(crate) fn new() -> Self {
        let listen = |kind| match signal(kind) {
            Ok(signal) => Some(signal),
            Err(error) => {
                // Then the system's own way of ending the process applies, which is to end it.
                tracing::warn!(%error, "signal_not_heard");
                None
            }
        };
        Self {
            terminate: listen(SignalKind::terminate()),
            interrupt: listen(SignalKind::interrupt()),
        }
    }

    /// Resolves at the next one.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            () = received(&mut self.terminate) => {}
            () = received(&mut self.interrupt) => {}
        }
    }
}

async fn received(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => {
            signal.recv().await;
        }
        None => std::future::pending().await,
    }
}
