//! Station 8, again: drain what waits → load → decide → commit → answer. The only caller of `decide`.
//!
//! One task, one group under way. While the store commits a group, the next one is decided from the
//! states that the first will leave behind; see [`crate::group`] for why that is safe. Under low load
//! a group is one ask and its latency is one commit; under high load groups grow by themselves.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use stepwell_core::command::Command;
use stepwell_core::id::RunId;
use stepwell_core::run::Run;
use stepwell_core::time::Timestamp;
use stepwell_store::{Epoch, Input, StoreError, Verdict};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::error::EngineError;
use crate::group::{Forward, Plan, Slot, Staged, Ticket};
use crate::hunger::HandOver;
use crate::inputs::{self, Forwarded};
use crate::intake::{Answered, Ask, Batch, Reply};
use crate::letters;
use crate::shared::{Found, Shared};

/// How often an ask is decided again because its run had changed.
const STALE_TRIES_MAX: u32 = 5;

/// Runs by id, or why they could not be loaded.
type Loaded = Result<HashMap<RunId, Found>, EngineError>;

/// Decides and commits.
pub(crate) struct Handler {
    shared: Arc<Shared>,
    waiting: VecDeque<Ticket>,
    staged: Staged,
    under_way: Option<UnderWay>,
    open: BTreeMap<u64, OpenBatch>,
    next_batch: u64,
    /// asks that are still to be committed one by one, because their group could not be stored
    singly: usize,
    /// runs that are to go to other instances, between two commits
    orders: mpsc::Receiver<HandOver>,
    /// answers that came after their commit, because another instance had to decide
    late: (mpsc::UnboundedSender<Late>, mpsc::UnboundedReceiver<Late>),
}

/// An answer that came after its commit, and where it goes.
type Late = (Slot, Answered);

/// A group that is being committed.
struct UnderWay {
    group: Staged,
    /// as whom we write it
    epoch: Epoch,
    since: Instant,
    done: JoinHandle<Result<Vec<Verdict>, StoreError>>,
}

/// What is left to do after the store has answered for a group.
struct Settled {
    /// asks to be decided again
    again: Vec<Ticket>,
    /// every write is as it was decided, so what was decided since rests on solid ground
    all_stood: bool,
}

/// A batch of asks that is not answered in full yet.
struct OpenBatch {
    answers: Vec<Option<Answered>>,
    missing: usize,
    reply: oneshot::Sender<Vec<Answered>>,
}

impl Handler {
    pub(crate) fn new(shared: Arc<Shared>, orders: mpsc::Receiver<HandOver>) -> Self {
        Self {
            shared,
            waiting: VecDeque::new(),
            staged: Staged::default(),
            under_way: None,
            open: BTreeMap::new(),
            next_batch: 0,
            singly: 0,
            orders,
            late: mpsc::unbounded_channel(),
        }
    }

    /// Works until the door is closed and everything taken in is answered.
    pub(crate) async fn run(mut self, mut inbox: mpsc::Receiver<Batch>) {
        let mut closed = false;
        loop {
            let group_max = self.shared.settings.group_max;
            let room = self.waiting.len() + self.staged.len() < group_max;
            let committing = self.under_way.is_some();
            let idle = !committing && self.waiting.is_empty() && self.staged.is_empty();
            if closed && idle && self.open.is_empty() {
                return;
            }
            tokio::select! {
                biased;
                done = committed(&mut self.under_way), if committing => self.settle(done).await,
                Some((slot, answer)) = self.late.1.recv() => self.answer(slot, answer),
                Some(order) = self.orders.recv(), if !committing => self.shared.hand_over(order).await,
                batch = inbox.recv(), if room && !closed => match batch {
                    Some(batch) => {
                        self.take_in(batch);
                        while self.waiting.len() + self.staged.len() < group_max
                            && let Ok(batch) = inbox.try_recv()
                        {
                            self.take_in(batch);
                        }
                    }
                    None => closed = true,
                },
                else => {}
            }
            self.stage().await;
            self.submit();
        }
    }

    fn take_in(&mut self, batch: Batch) {
        let number = self.next_batch;
        self.next_batch += 1;
        if batch.asks.is_empty() {
            let _ = batch.reply.send(Vec::new());
            return;
        }
        let missing = batch.asks.len();
        let answers = std::iter::repeat_with(|| None).take(missing).collect();
        self.open.insert(number, OpenBatch { answers, missing, reply: batch.reply });
        self.waiting.extend(batch.asks.into_iter().enumerate().map(|(place, ask)| Ticket {
            slot: Slot { batch: number, place },
            ask,
            tries: 0,
        }));
    }

    /// Decides whatever waits; only one ask at a time while a group is being taken apart.
    async fn stage(&mut self) {
        let apart = self.singly > 0;
        if self.waiting.is_empty()
            || (apart && (self.under_way.is_some() || !self.staged.is_empty()))
        {
            return;
        }
        let loaded = if self.shared.may_decide() {
            self.load_missing().await
        } else {
            Err(EngineError::Unavailable("this instance has lost touch with the store".to_owned()))
        };
        let now = self.shared.now();
        while let Some(ticket) = self.waiting.pop_front() {
            self.decide(ticket, &loaded, now);
            if apart {
                self.singly -= 1;
                return;
            }
        }
    }

    fn decide(&mut self, ticket: Ticket, loaded: &Loaded, now: Timestamp) {
        let Some(id) = ticket.ask.run() else {
            match loaded {
                Ok(_) => self.staged.start(ticket, now, &self.shared),
                Err(error) => self.staged.fail(ticket, error.clone()),
            }
            return;
        };
        let found = match (self.tentative(id), loaded) {
            (_, Err(error)) => Err(error.clone()),
            (Some(run), _) => Ok(Found { run, ours: true }),
            (None, Ok(loaded)) => loaded.get(&id).cloned().ok_or(EngineError::NotFound(id)),
        };
        let decides = self.shared.settings.ownership.decides;
        match found {
            Ok(Found { run, ours }) if ours && decides => {
                self.staged.command(ticket, &run, now, &self.shared);
            }
            Ok(_) => self.forward(ticket, id, now),
            Err(error) => self.staged.fail(ticket, error),
        }
    }

    /// Leaves an ask to the run's owner. What an instance asks of its own runs, it asks nobody else.
    fn forward(&mut self, ticket: Ticket, run: RunId, now: Timestamp) {
        let Ask::Command { command, at_version, .. } = &ticket.ask else {
            self.staged.fail(ticket, EngineError::Elsewhere(run));
            return;
        };
        if matches!(command, Command::Wake | Command::Undelivered { .. }) {
            self.staged.fail(ticket, EngineError::Elsewhere(run));
            return;
        }
        let forwarded = Forwarded { command: command.clone(), at_version: *at_version };
        let id = self.shared.fresh_id();
        let input =
            Input { id, run, body: forwarded.to_text(), from: self.shared.epoch(), at: now };
        let word = self.shared.waiters.expect(id);
        self.staged.forward(ticket, input, word);
    }

    /// The run as the groups that are not committed yet will leave it.
    fn tentative(&self, id: RunId) -> Option<Arc<Run>> {
        let under_way = || self.under_way.as_ref().and_then(|under_way| under_way.group.run(id));
        self.staged.run(id).or_else(under_way)
    }

    async fn load_missing(&self) -> Loaded {
        let mut wanted: Vec<RunId> = self
            .waiting
            .iter()
            .filter_map(|ticket| ticket.ask.run())
            .filter(|id| self.tentative(*id).is_none())
            .collect();
        wanted.sort_unstable();
        wanted.dedup();
        self.shared.owned_runs(wanted).await
    }

    /// Hands the staged group to the store, unless one is still being committed.
    fn submit(&mut self) {
        if self.under_way.is_some() || self.staged.is_empty() {
            return;
        }
        let mut group = std::mem::take(&mut self.staged);
        let epoch = self.shared.epoch();
        let mut items = group.items(epoch);
        items.free = !self.shared.settings.ownership.decides;
        let store = Arc::clone(&self.shared.store);
        self.shared.metrics.group(items.items.len());
        let done = tokio::spawn(async move {
            // Answers without a write still wait for the group before, never for a commit of their own.
            let nothing = items.items.is_empty() && items.answers.is_empty();
            if nothing {
                return Ok(Vec::new());
            }
            letters::add_first_errors(&*store, &mut items).await;
            store.commit(items).await
        });
        self.under_way = Some(UnderWay { group, epoch, since: Instant::now(), done });
    }

    /// The store has answered for a group: let effects follow, answer, or decide again.
    async fn settle(&mut self, done: Result<Vec<Verdict>, EngineError>) {
        let Some(UnderWay { group, epoch, since, .. }) = self.under_way.take() else { return };
        self.shared.metrics.committed(since.elapsed());
        let Settled { mut again, all_stood } = match done {
            Ok(verdicts) => {
                let writes = &verdicts[..group.writes.len()];
                if !writes.contains(&Verdict::Stale) && self.orders.is_empty() {
                    // The next group rests on solid ground: the store need not wait for us.
                    self.submit();
                }
                // Whoever is somebody new by now has left the effects to the next owner.
                if epoch == self.shared.epoch() {
                    self.publish(&group, writes).await;
                }
                self.answer_committed(group, &verdicts)
            }
            Err(error) => self.answer_failed(group, error),
        };
        if !all_stood {
            // What was decided since rests on states that never came to be.
            again.extend(std::mem::take(&mut self.staged).dissolve());
        }
        for ticket in again.into_iter().rev() {
            self.waiting.push_front(ticket);
        }
    }

    /// Nothing of a group was stored, as far as the store says.
    fn answer_failed(&mut self, group: Staged, error: EngineError) -> Settled {
        self.shared.look_again(&group);
        // One ask that cannot be stored must not take its neighbors down with it.
        if matches!(error, EngineError::Broken(_)) && group.len() > 1 {
            tracing::error!(%error, asks = group.len(), "group_taken_apart");
            self.singly = group.len();
            return Settled { again: group.dissolve().collect(), all_stood: false };
        }
        tracing::warn!(%error, asks = group.len(), "commit_failed");
        self.shared.stats.failed();
        let mut error = error;
        if matches!(error, EngineError::Stopped) {
            self.shared.lost_ownership(group.writes.len());
        }
        if self.shared.store.is_shared() && matches!(error, EngineError::Stopped) {
            // Only this instance was refused; it begins anew, and so may whoever asked.
            error =
                EngineError::Unavailable("others have taken this instance's runs over".to_owned());
        }
        for ticket in group.dissolve().collect::<Vec<_>>() {
            self.answer(ticket.slot, Err(error.clone()));
        }
        Settled { again: Vec::new(), all_stood: false }
    }

    async fn publish(&self, group: &Staged, verdicts: &[Verdict]) {
        let stored = group.writes.iter().zip(verdicts);
        let stored = stored.filter(|(_, verdict)| **verdict == Verdict::Done);
        self.shared.follow(stored.map(|(write, _)| write)).await;
    }

    /// Answers everybody whose write stands; the others are decided again, a few times.
    fn answer_committed(&mut self, group: Staged, verdicts: &[Verdict]) -> Settled {
        let mut settled = Settled { again: Vec::new(), all_stood: true };
        let Staged { tickets, writes, mut forwards, forwards_from, .. } = group;
        let stale: HashSet<RunId> = writes
            .iter()
            .zip(verdicts)
            .filter(|(_, verdict)| **verdict == Verdict::Stale)
            .map(|(write, _)| write.run.id())
            .collect();
        for (ticket, plan) in tickets {
            // An answer without a write of its own may rest on a write of its group that did not stand.
            let groundless = ticket.ask.run().is_some_and(|run| stale.contains(&run));
            let answer = match plan {
                Plan::Unchanged(_) | Plan::Refused(_) | Plan::Failed(_) if groundless => {
                    if ticket.tries + 1 < STALE_TRIES_MAX {
                        settled.again.push(Ticket { tries: ticket.tries + 1, ..ticket });
                        continue;
                    }
                    Err(EngineError::Unavailable("the run kept changing".to_owned()))
                }
                Plan::Failed(error) => Err(error),
                Plan::Refused(refusal) => Err(EngineError::Refused(refusal)),
                Plan::Unchanged(run) => Ok(Reply::Applied(run)),
                Plan::Forward(place) if verdicts[forwards_from + place] == Verdict::Done => {
                    self.await_owner(ticket.slot, &mut forwards[place]);
                    continue;
                }
                Plan::Forward(place) => Err(EngineError::NotFound(forwards[place].run)),
                Plan::Write(write) => match &verdicts[write] {
                    Verdict::Done => {
                        self.shared.stats.decided(usize::from(ticket.ask.is_report()));
                        Ok(done(&ticket.ask, &writes[write].run))
                    }
                    Verdict::Duplicate(holder) => repeated(&ticket.ask, holder),
                    Verdict::TenantFull { open } => Err(full(&ticket.ask, *open)),
                    Verdict::CreditsShort { balance } => {
                        Err(EngineError::CreditsShort { balance: *balance })
                    }
                    Verdict::Stale => {
                        settled.all_stood = false;
                        self.shared.cache.forget(writes[write].run.id());
                        if ticket.tries + 1 < STALE_TRIES_MAX {
                            settled.again.push(Ticket { tries: ticket.tries + 1, ..ticket });
                            continue;
                        }
                        Err(EngineError::Unavailable("the run kept changing".to_owned()))
                    }
                },
            };
            self.answer(ticket.slot, answer);
        }
        settled
    }

    /// Answers when the run's owner has spoken, or has been silent for long enough.
    fn await_owner(&self, slot: Slot, forward: &mut Forward) {
        let Some(word) = forward.word.take() else { return };
        let (shared, late) = (Arc::clone(&self.shared), self.late.0.clone());
        let (run, input) = (forward.run, forward.id);
        tokio::spawn(async move {
            let answer = inputs::answer_of_owner(&shared, run, input, word).await;
            // The handler ends only after everybody is answered.
            let _ = late.send((slot, answer));
        });
    }

    fn answer(&mut self, slot: Slot, answer: Answered) {
        let std::collections::btree_map::Entry::Occupied(mut batch) = self.open.entry(slot.batch)
        else {
            return;
        };
        let open = batch.get_mut();
        open.answers[slot.place] = Some(answer);
        open.missing -= 1;
        if open.missing == 0 {
            let OpenBatch { answers, reply, .. } = batch.remove();
            // Whoever asked may have gone; what was committed stays committed.
            let _ = reply.send(answers.into_iter().flatten().collect());
        }
    }
}

/// Resolves when the group under way is committed, or has failed.
async fn committed(under_way: &mut Option<UnderWay>) -> Result<Vec<Verdict>, EngineError> {
    let Some(under_way) = under_way else { return std::future::pending().await };
    match (&mut under_way.done).await {
        Ok(verdicts) => verdicts.map_err(EngineError::from),
        Err(panic) => Err(EngineError::Broken(format!("the store's task ended: {panic}"))),
    }
}

fn done(ask: &Ask, run: &Arc<Run>) -> Reply {
    match ask {
        Ask::Start(_) => Reply::Started(Arc::clone(run)),
        Ask::Command { .. } | Ask::Input(_) | Ask::PutOff { .. } => Reply::Applied(Arc::clone(run)),
    }
}

/// The same request again gets the same run; another request under the same key is refused.
fn repeated(ask: &Ask, holder: &stepwell_store::KeyHolder) -> Answered {
    let same = match ask {
        Ask::Start(start) => start.key.is_some_and(|key| key.request_hash == holder.request_hash),
        Ask::Command { .. } | Ask::Input(_) | Ask::PutOff { .. } => false,
    };
    if same {
        Ok(Reply::Repeated(holder.run))
    } else {
        Err(EngineError::KeyReused { run: holder.run })
    }
}

fn full(ask: &Ask, open: u32) -> EngineError {
    let cap = match ask {
        Ask::Start(start) => start.tenant_cap.unwrap_or(open),
        Ask::Command { .. } | Ask::Input(_) | Ask::PutOff { .. } => open,
    };
    EngineError::TenantFull { open, cap }
}
