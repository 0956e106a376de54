//! Where in its runbook a job stands.

use stepwell_core::definition::Part;
use stepwell_core::id::StepIndex;
use stepwell_core::run::{BatchRole, Run};
use stepwell_dialects::runbooks::Runbook;
use stepwell_dialects::runbooks::compile::of_versioned;
use stepwell_dialects::runbooks::document::RunbookStep;

/// A step of a runbook, by its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) section: Section,
    /// counted from 0 within the section
    pub(super) step: usize,
}

/// A part of a runbook that has steps, by its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Section {
    Init,
    Phase(usize),
    Rollback(usize),
}

impl Place {
    /// Where a step of a run stands; `None` if the runbook does not have it.
    pub(super) fn of(runbook: &Runbook, run: &Run, step: StepIndex) -> Option<Self> {
        let position = step.position();
        if let Part::Compensation(name) = &run.header.part {
            let (name, _) = of_versioned(name)?;
            let section = runbook.rollbacks.keys().position(|known| known == name)?;
            return Some(Self { section: Section::Rollback(section), step: position });
        }
        if run.header.membership?.role == BatchRole::Init {
            return Some(Self { section: Section::Init, step: position });
        }
        let mut first = 0;
        for (index, phase) in runbook.phases.iter().enumerate() {
            if position < first + phase.steps.len() {
                return Some(Self { section: Section::Phase(index), step: position - first });
            }
            first += phase.steps.len();
        }
        None
    }

    /// What the part of the runbook is called.
    pub(super) fn section(self, runbook: &Runbook) -> &str {
        match self.section {
            Section::Init => "init",
            Section::Phase(index) => &runbook.phases[index].name,
            Section::Rollback(index) => {
                runbook.rollbacks.keys().nth(index).map_or("", String::as_str)
            }
        }
    }

    /// The step itself.
    ///
    /// # Panics
    /// A place is made by [`Place::of`], and its runbook never changes.
    pub(super) fn step(self, runbook: &Runbook) -> &RunbookStep {
        let steps = match self.section {
            Section::Init => &runbook.init,
            Section::Phase(index) => &runbook.phases[index].steps,
            Section::Rollback(index) => {
                runbook.rollbacks.values().nth(index).expect("the place is one of this runbook")
            }
        };
        &steps[self.step]
    }
}
