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
        if let Some(known) = self.known_runbook(name, version) {
            return Ok(known);
        }
        let document = self.store.runbook(name.to_owned(), Some(version)).await?;
        let document = document.ok_or_else(|| {
            EngineError::Broken(format!("runbook {name} version {version} is not in the store"))
        })?;
        self.keep_runbook(&document)
    }

    /// A version that was read before.
    pub(crate) fn known_runbook(&self, name: &str, version: u32) -> Option<Arc<CompiledRunbook>> {
        read(&self.runbooks).get(&(name.to_owned(), version)).map(Arc::clone)
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

#[cfg(test)]
mod tests {
    use stepwell_core::batch::Overdue;
    use stepwell_core::command::Adopted;
    use stepwell_core::time::Timestamp;
    use stepwell_store::memory::MemoryStore;
    use stepwell_store::{NewRunbook, Store};

    use super::*;

    const HEAD: &str = "name: wave
data_source: {type: csv, connection: WAVE, primary_key: id, batch_time: immediate}
";

    /// A catalog over a store with one version of a runbook for each of these texts.
    async fn with(versions: &[&str]) -> Catalog {
        let store = MemoryStore::new();
        for text in versions {
            let published = store.publish_runbook(NewRunbook {
                name: "wave".to_owned(),
                source: format!("{HEAD}{text}"),
                overdue: Overdue::Ignore,
                rerun_init: false,
                created_at: Timestamp::from_millis(0),
                created_by: "tests".to_owned(),
            });
            published.await.expect("a store in memory takes it");
        }
        Catalog::new(Arc::new(store))
    }

    const OLD: &str =
        "phases: [{name: p, offset: T-0, steps: [{name: s, worker_id: w, function: F}]}]
init: [{name: i, worker_id: w, function: I}]
";
    const NEW: &str =
        "phases: [{name: q, offset: T-0, steps: [{name: s, worker_id: w, function: G}]}]
";

    fn steps(compiled: &Compiled) -> Vec<&str> {
        compiled.workflow.steps.iter().map(|step| step.id.as_str()).collect()
    }

    // the way of a member follows from the documents, whichever versions it has followed.
    #[tokio::test]
    async fn the_workflows_of_a_runbook_follow_from_its_documents() {
        let catalog = with(&[OLD, NEW]).await;
        let member = catalog.version("runbook-member:wave", 1).await.expect("a member's way");
        assert_eq!(steps(&member), ["p@1/s"]);
        let chain = catalog.version("runbook-member@1:wave", 2).await.expect("a longer way");
        assert_eq!(steps(&chain), ["p@1/s", "q@2/s"]);
        assert_eq!(
            (chain.workflow.name.as_str(), chain.workflow.version),
            ("runbook-member@1:wave", 2)
        );
        let init = catalog.version("runbook-init:wave", 1).await.expect("a preparation");
        assert_eq!(steps(&init), ["i"]);
        let again = catalog.version("runbook-member@1:wave", 2).await.expect("it is kept");
        assert!(Arc::ptr_eq(&chain, &again));
    }

    #[tokio::test]
    async fn what_a_runbook_does_not_have_is_told() {
        let catalog = with(&[NEW]).await;
        for (name, version, told) in [
            ("runbook-init:wave", 1, "runbook wave version 1 has no init"),
            ("runbook-removal:wave", 1, "runbook wave version 1 has no on_member_removed"),
            ("runbook-member:wave", 7, "runbook wave version 7 is not in the store"),
            ("runbook-member@3:wave", 1, "runbook wave version 3 is not in the store"),
        ] {
            let Err(error) = catalog.version(name, version).await else {
                panic!("{name} is there")
            };
            assert!(error.to_string().ends_with(told), "{error}");
        }
    }

    // A command that another instance wrote down names the workflow only.
    #[tokio::test]
    async fn a_command_without_its_workflow_is_given_it() {
        let catalog = with(&[OLD, NEW]).await;
        let workflow = Adopted::named("runbook-member@1:wave", 2);
        let command = Command::Adopt { workflow, superseded: Vec::new(), skipped: Vec::new() };
        let resolved = catalog.resolve(command).await.expect("it is known");
        let Command::Adopt { workflow, .. } = resolved else { panic!("another command") };
        assert_eq!(workflow.definition.map(|it| it.steps.len()), Some(2));
        assert_eq!(catalog.resolve(Command::Wake).await.expect("it needs nothing"), Command::Wake);
    }
}
