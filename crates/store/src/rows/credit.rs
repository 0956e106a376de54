//! What decisions move in accounts of credits.

use stepwell_core::credit::{CreditState, Credits, Movement};
use stepwell_core::id::{RunId, Tenant};
use stepwell_core::run::Run;
use stepwell_core::time::Timestamp;

/// What the decisions on a run move in the account of its tenant. Few runs cost anything.
#[derive(Debug)]
pub(crate) struct CreditRows {
    pub(crate) tenant: Tenant,
    pub(crate) run: RunId,
    pub(crate) at: Timestamp,
    /// in order, at least one
    pub(crate) movements: Vec<Movement>,
}

impl CreditRows {
    pub(super) fn encode(run: &Run, movements: Vec<Movement>) -> Option<Box<Self>> {
        if movements.is_empty() {
            return None;
        }
        let (tenant, at) = (run.header.tenant.clone(), run.updated_at);
        Some(Box::new(Self { tenant, run: run.id(), at, movements }))
    }

    /// What a new run must be able to set aside.
    pub(crate) fn reservation(&self) -> Option<Credits> {
        crate::model::reservation(&self.movements)
    }
}

/// What a run has set aside and spent, from its two columns; none, if it costs nothing.
pub(crate) fn credit_state(reserved: Option<i64>, spent: Option<i64>) -> Option<CreditState> {
    let (reserved, spent) = reserved.zip(spent)?;
    Some(CreditState { reserved: Credits(reserved), spent: Credits(spent) })
}
