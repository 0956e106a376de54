//! The signal that nobody has anything left to do.

use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Poll, Waker};

/// Says when every task of a runtime has gone to sleep: the runtime is about to park its only thread.
#[derive(Clone, Default)]
pub(crate) struct Quiet(Arc<Mutex<Listening>>);

#[derive(Default)]
struct Listening {
    waker: Option<Waker>,
    has_come: bool,
}

impl Quiet {
    /// A runtime of one thread that gives the signal.
    pub(crate) fn runtime(&self) -> tokio::runtime::Runtime {
        let listening = Arc::clone(&self.0);
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.on_thread_park(move || {
            let mut listening = listening.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(waker) = listening.waker.take() {
                listening.has_come = true;
                waker.wake();
            }
        });
        builder.enable_all().build().expect("a runtime of one thread can be built")
    }

    /// Waits until everybody else waits.
    pub(crate) async fn comes(&self) {
        let mut has_asked = false;
        std::future::poll_fn(|context| {
            let mut listening = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if has_asked && listening.has_come {
                return Poll::Ready(());
            }
            has_asked = true;
            listening.has_come = false;
            listening.waker = Some(context.waker().clone());
            Poll::Pending
        })
        .await;
    }
}
