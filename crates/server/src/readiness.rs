//! Whether this process can take work.

use std::time::Duration;

use stepwell_core::duration::Interval;
use stepwell_core::time::Timestamp;
use stepwell_engine::Engine;
use tokio::sync::Mutex;

/// How long an answer of the store is believed: nobody can make it write by asking often.
const BELIEVED: Interval = Interval::from_secs(1);

/// A store that has not answered by then is away.
const PATIENCE: Duration = Duration::from_secs(2);

/// What the store last said.
#[derive(Default)]
pub(crate) struct Readiness {
    last: Mutex<Option<(Timestamp, Result<(), String>)>>,
}

impl Readiness {
    /// Whether the process can take work; if not, why.
    pub(crate) async fn check(&self, engine: &Engine) -> Result<(), String> {
        if engine.is_fenced() {
            return Err("another process has taken the store over".to_owned());
        }
        if engine.is_stopping() {
            return Err("the process is stopping".to_owned());
        }
        if !engine.may_decide() {
            return Err("this instance could not give a sign of life for so long that others may \
                        have taken its jobs; it goes on when the store answers"
                .to_owned());
        }
        let mut last = self.last.lock().await;
        let now = engine.now();
        if let Some((until, answer)) = &*last
            && now < *until
        {
            return answer.clone();
        }
        let answer = probe(engine).await;
        *last = Some((engine.now().after(BELIEVED), answer.clone()));
        answer
    }
}

async fn probe(engine: &Engine) -> Result<(), String> {
    match tokio::time::timeout(PATIENCE, engine.store().probe()).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("the store did not answer within 2 seconds".to_owned()),
    }
}
