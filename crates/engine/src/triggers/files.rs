//! Dropped files: look, wait until a file has settled, take it, start its run.
//!
//! A file is taken in this order: its firing is noted as queued; it is moved, if it is to be; its run
//! is started with the path at which it now lies; its firing is noted as started. A crash in between
//! is taken up from the queued firing: a file that was moved is found where it is, and a run that was
//! started is found by its key.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use stepwell_connectors::file_drop::{DropDirectory, DropError, DroppedFile, Glob};
use stepwell_core::duration::Interval;
use stepwell_core::time::Timestamp;
use stepwell_dialects::workspaces::trigger::{self as document, AfterFile, FileDropKind};
use stepwell_store::{Firing, FiringOutcome, Trigger, TriggerProgress};

use super::error::TriggerError;
use super::note;
use super::start::{Hindrance, Order, made_before, start_all};
use crate::error::EngineError;
use crate::intake::Intake;
use crate::shared::Shared;

/// Files taken in one turn; what is left has the next one, after other triggers had theirs.
const TURN: usize = 100;

/// The rest of files that could not become jobs, and of us when the store is away.
const REST: Interval = Interval::from_secs(30);

/// How long a directory may take to answer: a share that hangs must not keep us from the others.
const ANSWER_MAX: Duration = Duration::from_secs(60);

/// A directory that is watched for a trigger.
pub(super) struct Watched {
    pub(super) trigger: Trigger,
    document: document::Trigger,
    files: FileDropKind,
    glob: Glob,
    /// when to look next
    pub(super) look_at: Timestamp,
    /// as they were seen last, and since when they are so
    unsettled: BTreeMap<String, (DroppedFile, Timestamp)>,
    settled: VecDeque<DroppedFile>,
    /// they were taken, and still lie there
    taken: BTreeMap<String, DroppedFile>,
    /// firings may be queued: at first a crash may have left some
    may_wait: bool,
    /// the last look found no directory: what it said of it is over with the next that does
    look_failed: bool,
}

/// What became of a turn.
struct Turn {
    firings: Vec<Firing>,
    error: Option<String>,
    some_wait: bool,
}

impl Watched {
    /// Begins to watch a directory.
    pub(super) fn new(
        trigger: Trigger,
        document: document::Trigger,
        files: FileDropKind,
        now: Timestamp,
    ) -> Result<Self, TriggerError> {
        Ok(Self {
            glob: Glob::parse(&files.glob)?,
            trigger,
            document,
            files,
            look_at: now,
            unsettled: BTreeMap::new(),
            settled: VecDeque::new(),
            taken: BTreeMap::new(),
            may_wait: true,
            look_failed: true,
        })
    }

    /// Takes what has settled. Never fails itself: what is wrong is noted on the trigger.
    pub(super) async fn look(&mut self, shared: &Shared, intake: &Intake) {
        let now = shared.now();
        self.look_at = now.after(shared.settings.triggers.poll);
        let noted = match self.take(shared, intake).await {
            Ok(noted) => noted,
            Err(TriggerError::Directory(error)) => {
                self.look_failed = true;
                self.note(shared, Vec::new(), Some(error.to_string())).await
            }
            Err(TriggerError::Engine(error)) => Err(error),
            Err(other) => self.note(shared, Vec::new(), Some(other.to_string())).await,
        };
        if let Err(error) = noted {
            tracing::warn!(trigger = self.trigger.name, %error, "files_not_taken");
            self.look_at = now.after(REST);
        }
    }

    async fn take(
        &mut self,
        shared: &Shared,
        intake: &Intake,
    ) -> Result<Result<(), EngineError>, TriggerError> {
        let mut waiting = self.waiting(shared).await?;
        if waiting.is_empty() {
            if self.settled.is_empty() {
                self.scan(shared).await?;
            }
            waiting = self.queue(shared).await?;
        }
        let turn = self.start(shared, intake, waiting).await?;
        self.may_wait = turn.some_wait;
        if turn.some_wait {
            self.look_at = shared.now().after(REST);
        } else if !self.settled.is_empty() {
            self.look_at = shared.now();
        }
        // Why a file made no job is said until another makes one.
        let looked_well = std::mem::take(&mut self.look_failed);
        let error = match turn.firings.is_empty() && !looked_well {
            true => self.trigger.last_error.clone(),
            false => turn.error,
        };
        Ok(self.note(shared, turn.firings, error).await)
    }

    /// Firings that an earlier turn has left.
    async fn waiting(&self, shared: &Shared) -> Result<Vec<Firing>, TriggerError> {
        if !self.may_wait {
            return Ok(Vec::new());
        }
        let (tenant, name) = (self.trigger.tenant.clone(), self.trigger.name.clone());
        let queued = Some(FiringOutcome::Queued);
        Ok(shared.store.firings(tenant, name, queued, TURN).await?)
    }

    /// Looks what lies there, and finds what has not changed for long enough.
    async fn scan(&mut self, shared: &Shared) -> Result<(), TriggerError> {
        let begun_at = shared.now();
        let glob = self.glob.clone();
        let files = self.blocking(shared, move |directory| directory.files(&glob)).await?;
        // A look may take long: what is new may be as new as its end, what is old as its beginning.
        let seen_at = shared.now();
        let mut lying: BTreeMap<String, DroppedFile> =
            files.into_iter().map(|file| (file.name.clone(), file)).collect();
        self.taken.retain(|name, taken| lying.get(name) == Some(taken));
        lying.retain(|name, _| !self.taken.contains_key(name));
        let mut seen = std::mem::take(&mut self.unsettled);
        for (name, file) in lying {
            let since = match seen.remove(&name) {
                Some((same, since)) if same == file => since,
                _ => seen_at,
            };
            if begun_at.since(since) >= self.files.settle {
                self.settled.push_back(file);
            } else {
                self.unsettled.insert(name, (file, since));
            }
        }
        Ok(())
    }

    /// Notes the next files as queued, unless they were taken before.
    async fn queue(&mut self, shared: &Shared) -> Result<Vec<Firing>, TriggerError> {
        let count = self.settled.len().min(TURN);
        let next: Vec<DroppedFile> = self.settled.drain(..count).collect();
        if next.is_empty() {
            return Ok(Vec::new());
        }
        let keys: Vec<String> = next.iter().map(|file| self.key(file)).collect();
        let (tenant, name) = (self.trigger.tenant.clone(), self.trigger.name.clone());
        let known = shared.store.known_firings(tenant, name, keys.clone()).await?;
        let now = shared.now();
        let fresh = keys.into_iter().zip(&known).filter(|(_, known)| !**known);
        let queued: Vec<Firing> =
            fresh.map(|(key, _)| note::queued(&self.trigger, key, None, now)).collect();
        if !queued.is_empty()
            && !shared.note_trigger(note::unmoved(&self.trigger, queued.clone())).await?
        {
            // The trigger has changed; whoever reads it anew looks again.
            return Ok(Vec::new());
        }
        self.may_wait = true;
        self.taken.extend(next.into_iter().map(|file| (file.name.clone(), file)));
        Ok(queued)
    }

    async fn start(
        &self,
        shared: &Shared,
        intake: &Intake,
        waiting: Vec<Firing>,
    ) -> Result<Turn, TriggerError> {
        let mut turn = Turn { firings: Vec::new(), error: None, some_wait: false };
        let (mut ready, mut variables) = (Vec::new(), Vec::new());
        for firing in waiting {
            match self.place(shared, &firing.key).await? {
                Some((path, file)) => {
                    variables.push(described(&path, &file));
                    ready.push(firing);
                }
                None => turn.failed(firing, "the file is gone, or has changed since".to_owned()),
            }
        }
        let orders: Vec<Order<'_>> = ready
            .iter()
            .zip(variables)
            .map(|(firing, variables)| Order {
                trigger: &self.trigger,
                document: &self.document,
                key: &firing.key,
                variables,
                input: Map::new(),
            })
            .collect();
        let answers = start_all(shared, intake, &orders).await;
        drop(orders);
        let now = shared.now();
        for (firing, answer) in ready.into_iter().zip(answers) {
            match made_before(answer) {
                Ok(made) => turn.firings.push(note::started(firing, made.run, now)),
                // The file lies there: it waits until somebody publishes the workflow.
                Err(error @ TriggerError::WorkflowNotFound(_)) => turn.waits(firing, &error),
                Err(error) => match Hindrance::from(error) {
                    Hindrance::NotNow(why) => turn.waits(firing, &why),
                    Hindrance::Fault(error) => turn.waits(firing, &error),
                    Hindrance::Never(why) => turn.failed(firing, why),
                },
            }
        }
        Ok(turn)
    }

    /// Puts the file of a firing where its job finds it; `None` if it is gone.
    async fn place(
        &self,
        shared: &Shared,
        key: &str,
    ) -> Result<Option<(PathBuf, DroppedFile)>, TriggerError> {
        let Some(file) = read_key(key) else { return Ok(None) };
        let (seen, new_name) = (file.clone(), taken_name(&file.name, key));
        let processed = match self.files.after {
            AfterFile::Move => Some(self.files.processed.clone()),
            AfterFile::Remember => None,
        };
        let path = self
            .blocking(shared, move |directory| match processed {
                Some(place) => directory.put_away(&seen, &place, &new_name),
                None if directory.file(&seen.name).as_ref() == Some(&seen) => {
                    Ok(Some(directory.path().join(&seen.name)))
                }
                None => Ok(None),
            })
            .await?;
        Ok(path.map(|path| (path, file)))
    }

    async fn blocking<T: Send + 'static>(
        &self,
        shared: &Shared,
        work: impl FnOnce(&DropDirectory) -> Result<T, DropError> + Send + 'static,
    ) -> Result<T, TriggerError> {
        let path = PathBuf::from(&self.files.directory);
        let allowed = shared.settings.triggers.directories.clone();
        let task = tokio::task::spawn_blocking(move || {
            // Opened anew each time: a link may have been put in its place.
            work(&DropDirectory::open(&path, &allowed)?)
        });
        let Ok(worked) = tokio::time::timeout(ANSWER_MAX, task).await else {
            let path = PathBuf::from(&self.files.directory);
            let reason = "it does not answer".to_owned();
            return Err(DropError::Unreadable { path, reason }.into());
        };
        Ok(worked.map_err(|error| EngineError::Broken(error.to_string()))??)
    }

    fn key(&self, file: &DroppedFile) -> String {
        let path = Path::new(&self.files.directory).join(&file.name);
        format!("{}:{}:{}", path.display(), file.size, file.modified_ns)
    }

    /// Writes only what is new: a directory in which nothing happens costs no commit.
    async fn note(
        &mut self,
        shared: &Shared,
        firings: Vec<Firing>,
        error: Option<String>,
    ) -> Result<(), EngineError> {
        if firings.is_empty() && error == self.trigger.last_error {
            return Ok(());
        }
        self.trigger.last_error.clone_from(&error);
        let progress =
            TriggerProgress { last_error: error, ..note::unmoved(&self.trigger, firings) };
        shared.note_trigger(progress).await?;
        Ok(())
    }
}

impl Turn {
    fn waits(&mut self, firing: Firing, why: &impl ToString) {
        self.some_wait = true;
        self.error = Some(why.to_string());
        self.firings.push(note::ended(firing, FiringOutcome::Queued, why.to_string()));
    }

    fn failed(&mut self, firing: Firing, why: String) {
        self.error = Some(why.clone());
        self.firings.push(note::ended(firing, FiringOutcome::Failed, why));
    }
}

/// The file that a key was made of.
fn read_key(key: &str) -> Option<DroppedFile> {
    let mut parts = key.rsplitn(3, ':');
    let (modified_ns, size) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    let name = Path::new(parts.next()?).file_name()?.to_str()?.to_owned();
    Some(DroppedFile { name, size, modified_ns })
}

/// The name of a taken file: its own with a few signs of the key, so that no two meet and the same
/// firing finds its file again after a crash.
fn taken_name(name: &str, key: &str) -> String {
    let digest = Sha256::digest(key);
    let mark: String = digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    match name.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() => format!("{stem}.{mark}.{ending}"),
        _ => format!("{name}.{mark}"),
    }
}

/// What the templates of a file drop may ask for.
fn described(path: &Path, file: &DroppedFile) -> Map<String, Value> {
    let millis = i64::try_from(file.modified_ns / 1_000_000).unwrap_or(i64::MAX);
    let file = json!({
        "path": path.display().to_string(),
        "name": file.name,
        "size": file.size,
        "modified_at": Timestamp::from_millis(millis).to_string(),
    });
    Map::from_iter([("_file".to_owned(), file)])
}
