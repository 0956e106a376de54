//! Work that blocks a thread, and can be told to stop.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::error::SourceError;

/// Tells work on another thread to stop.
#[derive(Clone, Default)]
pub(super) struct Stop(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    is_stopped: bool,
    action: Option<Box<dyn FnOnce() + Send>>,
}

impl Stop {
    /// Whether nobody waits for the work any more.
    pub(super) fn is_stopped(&self) -> bool {
        self.state().is_stopped
    }

    /// Says how to interrupt the work; done at once if nobody waits already.
    pub(super) fn interrupt_by(&self, action: impl FnOnce() + Send + 'static) {
        let mut state = self.state();
        if state.is_stopped {
            drop(state);
            action();
        } else {
            state.action = Some(Box::new(action));
        }
    }

    fn stop(&self) {
        let mut state = self.state();
        state.is_stopped = true;
        let action = state.action.take();
        drop(state);
        if let Some(action) = action {
            action();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Stops the work when whoever waits for it goes away.
struct Waiting(Stop);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Does work on a thread of its own, and tells it to stop if this is dropped before it is done.
pub(super) async fn run<T: Send + 'static>(
    work: impl FnOnce(&Stop) -> Result<T, SourceError> + Send + 'static,
) -> Result<T, SourceError> {
    let stop = Stop::default();
    let waiting = Waiting(stop.clone());
    let done = tokio::task::spawn_blocking(move || work(&stop)).await;
    drop(waiting);
    done.unwrap_or_else(|_| Err(SourceError::unreadable("reading it broke; see the log")))
}
