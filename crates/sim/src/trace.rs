//! What happened in a world, in order: always hashed, kept only when somebody wants to read it.

use std::fmt::{Display, Write as _};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The log of a world.
#[derive(Debug)]
pub struct Trace {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    keeps: bool,
    hash: u64,
    events: u64,
    line: String,
    lines: Vec<String>,
}

impl Trace {
    /// An empty log; it keeps its lines if asked to.
    #[must_use]
    pub fn new(keeps: bool) -> Self {
        let state = State {
            keeps,
            hash: 0xcbf2_9ce4_8422_2325,
            events: 0,
            line: String::new(),
            lines: Vec::new(),
        };
        Self { state: Mutex::new(state) }
    }

    /// Notes one event.
    pub fn note(&self, since_noon_ms: i64, who: impl Display, what: impl Display) {
        let mut state = self.state();
        let state = &mut *state;
        state.events += 1;
        state.line.clear();
        // Writing to a string cannot fail.
        let _ = write!(state.line, "{:>11} {who:<12} {what}", Elapsed(since_noon_ms));
        for byte in state.line.bytes() {
            state.hash = (state.hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        if state.keeps {
            state.lines.push(state.line.clone());
        }
    }

    /// A number that differs when anything happened differently.
    pub fn hash(&self) -> u64 {
        self.state().hash
    }

    /// How many events there were.
    pub fn events(&self) -> u64 {
        self.state().events
    }

    /// What was kept.
    pub fn lines(&self) -> Vec<String> {
        self.state().lines.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Time since the beginning of the world: `1:02:03.004`.
struct Elapsed(i64);

impl Display for Elapsed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (seconds, millis) = (self.0 / 1000, self.0 % 1000);
        let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        f.pad(&format!("{hours}:{minutes:02}:{seconds:02}.{millis:03}"))
    }
}
