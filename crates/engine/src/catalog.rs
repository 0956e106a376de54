//! Workflows and runbooks, read once and kept: a version never changes.

mod runbooks;

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use stepwell_core::definition::Workflow;
use stepwell_dialects::problem::Problems;
use stepwell_dialects::runbooks::compile::Sequence;
use stepwell_dialects::workflow::{self, Checks};
use stepwell_store::{NewWorkflow, Store, WorkflowDocument};

pub use self::runbooks::CompiledRunbook;
use crate::error::EngineError;

/// A workflow with its schemas compiled.
pub struct Compiled {
    /// the graph
    pub workflow: Arc<Workflow>,
    /// its schemas
    pub checks: Checks,
}

/// Workflows and runbooks by name and version, and the protocols by request type.
pub(crate) struct Catalog {
    store: Arc<dyn Store>,
    versions: RwLock<HashMap<(String, u32), Arc<Compiled>>>,
    protocols: RwLock<HashMap<String, Arc<Compiled>>>,
    runbooks: RwLock<HashMap<(String, u32), Arc<CompiledRunbook>>>,
}

/// What became of a publish.
#[derive(Debug)]
pub enum PublishError {
    /// the document is wrong
    Invalid(Problems),
    /// the store did not take it
    Engine(EngineError),
}

impl Catalog {
    pub(crate) fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            versions: RwLock::default(),
            protocols: RwLock::default(),
            runbooks: RwLock::default(),
        }
    }

    /// Stores a document as the next version of its workflow.
    pub(crate) async fn publish(
        &self,
        source: String,
        created_by: String,
        created_at: stepwell_core::time::Timestamp,
    ) -> Result<WorkflowDocument, PublishError> {
        let workflow = workflow::read(source.as_bytes()).map_err(PublishError::Invalid)?;
        Checks::compile(&workflow).map_err(PublishError::Invalid)?;
        let document = NewWorkflow {
            name: workflow.name,
            request_type: workflow.request_type,
            source,
            created_at,
            created_by,
        };
        let stored = self.store.publish_workflow(document).await;
        // Which workflow answers a request type may have changed; the store knows.
        self.forget_protocols();
        stored.map_err(|error| PublishError::Engine(error.into()))
    }

    /// Which workflow answers a request type is asked for again.
    pub(crate) fn forget_protocols(&self) {
        write(&self.protocols).clear();
    }

    /// One version. The workflows of runbooks are not stored: they follow from the documents.
    pub(crate) async fn version(
        &self,
        name: &str,
        version: u32,
    ) -> Result<Arc<Compiled>, EngineError> {
        let key = (name.to_owned(), version);
        if let Some(found) = read(&self.versions).get(&key) {
            return Ok(Arc::clone(found));
        }
        if let Some(origin) = Sequence::of_workflow_name(name) {
            let compiled = self.of_runbook(&origin, version).await?;
            write(&self.versions).insert(key, Arc::clone(&compiled));
            return Ok(compiled);
        }
        let document = self.store.workflow(name.to_owned(), Some(version)).await?;
        let document = document.ok_or_else(|| {
            EngineError::Broken(format!("workflow {name} version {version} is not in the store"))
        })?;
        self.keep(&document)
    }

    /// The newest version of a workflow.
    pub(crate) async fn newest(&self, name: &str) -> Result<Option<Arc<Compiled>>, EngineError> {
        match self.store.workflow(name.to_owned(), None).await? {
            Some(document) => self.keep(&document).map(Some),
            None => Ok(None),
        }
    }

    /// The workflow that answers a request type.
    pub(crate) async fn protocol(
        &self,
        request_type: &str,
    ) -> Result<Option<Arc<Compiled>>, EngineError> {
        if let Some(found) = read(&self.protocols).get(request_type) {
            return Ok(Some(Arc::clone(found)));
        }
        let Some(document) = self.store.protocol(request_type.to_owned()).await? else {
            return Ok(None);
        };
        let compiled = self.keep(&document)?;
        // Its newest version may no longer answer the request type that an earlier one claimed.
        if compiled.workflow.request_type.as_deref() != Some(request_type) {
            return Ok(None);
        }
        write(&self.protocols).insert(request_type.to_owned(), Arc::clone(&compiled));
        Ok(Some(compiled))
    }

    fn keep(&self, document: &WorkflowDocument) -> Result<Arc<Compiled>, EngineError> {
        let key = (document.name.clone(), document.version);
        if let Some(found) = read(&self.versions).get(&key) {
            return Ok(Arc::clone(found));
        }
        let compiled = compile(document).map_err(|problems| EngineError::BadWorkflow {
            name: document.name.clone(),
            version: document.version,
            problems,
        })?;
        write(&self.versions).insert(key, Arc::clone(&compiled));
        Ok(compiled)
    }
}

fn compile(document: &WorkflowDocument) -> Result<Arc<Compiled>, Problems> {
    let mut workflow = workflow::read(document.source.as_bytes())?;
    workflow.version = document.version;
    let checks = Checks::compile(&workflow)?;
    Ok(Arc::new(Compiled { workflow: Arc::new(workflow), checks }))
}

fn read<T>(lock: &RwLock<T>) -> std::sync::RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

fn write<T>(lock: &RwLock<T>) -> std::sync::RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}
