//! Runbooks, and the workflows that follow from them.

use std::sync::Arc;

use stepwell_core::command::Command;
use stepwell_core::definition::Workflow;
use stepwell_dialects::problem::Problems;
use stepwell_dialects::runbooks;
use stepwell_dialects::runbooks::compile::{Origin, Sequence, chain};
use stepwell_dialects::workflow::Checks;
use stepwell_store::RunbookDocument;

use super::{Catalog, Compiled, read, write};
use crate::error::EngineError;

/// One version of a runbook, with what the kernel runs for it.
#[derive(Debug)]
pub struct CompiledRunbook {
    /// its number among all versions of all runbooks
    pub id: i64,
    /// counted from 1
    pub version: u32,
    /// what the document says
    pub runbook: runbooks::Runbook,
    /// what the kernel runs for it
    pub compiled: runbooks::Compiled,
}

impl Catalog {
    /// One version of a runbook, in use or not: batches under way may follow either.
    pub(crate) async fn runbook(
        &self,
        name: &str,
        version: u32,
    ) -> Result<Arc<CompiledRunbook>, EngineError> {
        let key = (name.to_owned(), version);
        if let Some(found) = read(&self.runbooks).get(&key) {
            return Ok(Arc::clone(found));
        }
        let document = self.store.runbook(name.to_owned(), Some(version)).await?;
        let document = document.ok_or_else(|| {
            EngineError::Broken(format!("runbook {name} version {version} is not in the store"))
        })?;
        self.keep_runbook(&document)
    }

    /// A runbook whose document is at hand.
    pub(crate) fn keep_runbook(
        &self,
        document: &RunbookDocument,
    ) -> Result<Arc<CompiledRunbook>, EngineError> {
        let key = (document.name.clone(), document.version);
        if let Some(found) = read(&self.runbooks).get(&key) {
            return Ok(Arc::clone(found));
        }
        let reading = runbooks::read(document.source.as_bytes())
            .map_err(|problems| unusable(&document.name, document.version, problems))?;
        let runbook = Arc::new(CompiledRunbook {
            id: document.id,
            version: document.version,
            compiled: runbooks::compile(&reading.runbook, document.version),
            runbook: reading.runbook,
        });
        write(&self.runbooks).insert(key, Arc::clone(&runbook));
        Ok(runbook)
    }

    /// A command that came without the workflow it speaks of, because only the name was written
    /// down, gets it here.
    pub(crate) async fn resolve(&self, mut command: Command) -> Result<Command, EngineError> {
        if let Command::Adopt { workflow, .. } = &mut command
            && workflow.definition.is_none()
        {
            let compiled = self.version(&workflow.name, workflow.version).await?;
            workflow.definition = Some(Arc::clone(&compiled.workflow));
        }
        Ok(command)
    }

    /// The workflow of this origin whose newest version is `version`.
    pub(super) async fn of_runbook(
        &self,
        origin: &Origin<'_>,
        version: u32,
    ) -> Result<Arc<Compiled>, EngineError> {
        let newest = self.runbook(origin.runbook, version).await?;
        let absent = |what: &str| {
            let name = origin.runbook;
            EngineError::Broken(format!("runbook {name} version {version} has no {what}"))
        };
        let workflow = match origin.sequence {
            Sequence::Member => self.chain(origin, newest).await?,
            Sequence::Init => newest.compiled.init.clone().ok_or_else(|| absent("init"))?,
            Sequence::Removal => {
                newest.compiled.removal.clone().ok_or_else(|| absent("on_member_removed"))?
            }
        };
        // A runbook has no schemas, so nothing can be wrong with them.
        let checks = Checks::compile(&workflow)
            .map_err(|problems| unusable(origin.runbook, version, problems))?;
        Ok(Arc::new(Compiled { workflow: Arc::new(workflow), checks }))
    }

    async fn chain(
        &self,
        origin: &Origin<'_>,
        newest: Arc<CompiledRunbook>,
    ) -> Result<Workflow, EngineError> {
        let mut versions = Vec::with_capacity(origin.earlier.len() + 1);
        for version in &origin.earlier {
            versions.push(self.runbook(origin.runbook, *version).await?);
        }
        versions.push(newest);
        let versions: Vec<_> = versions.iter().map(|it| (&it.runbook, it.version)).collect();
        Ok(chain(&versions))
    }
}

fn unusable(name: &str, version: u32, problems: Problems) -> EngineError {
    EngineError::BadWorkflow { name: name.to_owned(), version, problems }
}
