//! Retention: an ended run is deleted with all that belongs to it, and a stub of it stays for a while.

use stepwell_core::id::RunId;
use stepwell_core::time::Timestamp;

use super::Tables;
use crate::model::Stub;

impl Tables {
    /// Deletes up to `limit` ended runs whose time has come, the longest overdue first.
    pub(super) fn sweep(&mut self, now: Timestamp, limit: usize) -> usize {
        let mut expired: Vec<(Timestamp, RunId)> = self
            .runs
            .iter()
            .filter(|(_, entry)| !self.is_needed(&entry.run))
            .filter_map(|(id, entry)| Some((entry.expires_at?, *id)))
            .filter(|(at, _)| *at <= now)
            .collect();
        expired.sort_unstable();
        expired.truncate(limit);
        for (_, run) in &expired {
            self.delete(*run, now);
        }
        expired.len()
    }

    /// Deletes one run and all that belongs to it, and leaves a stub.
    fn delete(&mut self, run: RunId, deleted_at: Timestamp) {
        let Some(entry) = self.runs.remove(&run) else { return };
        self.keys.retain(|_, holder| holder.run != run);
        self.dead_letters.retain(|_, letter| letter.run != Some(run));
        self.outbox.retain(|_, message| message.run != Some(run));
        self.batches.runs.retain(|_, known| known.run != run);
        self.events.forget(run);
        let header = &entry.run.header;
        let stub = Stub {
            run,
            tenant: header.tenant.clone(),
            workflow: header.workflow.name.clone(),
            status: entry.run.status,
            ended_at: entry.run.ended_at.unwrap_or(entry.run.updated_at),
            deleted_at,
        };
        self.stubs.insert(run, stub);
        if header.membership.is_some() {
            self.lasting_stubs.insert(run);
        }
    }

    pub(super) fn forget(
        &mut self,
        stubs_before: Timestamp,
        firings_before: Timestamp,
        limit: usize,
    ) -> usize {
        let old = self.stubs.values().filter(|stub| {
            stub.deleted_at < stubs_before && !self.lasting_stubs.contains(&stub.run)
        });
        let mut old: Vec<_> = old.map(|stub| (stub.deleted_at, stub.run)).collect();
        old.sort_unstable();
        old.truncate(limit);
        for (_, run) in &old {
            self.stubs.remove(run);
        }
        old.len() + self.forget_firings(firings_before, limit)
    }

    pub(super) fn expiries(&self, runs: Vec<RunId>) -> Vec<Option<Timestamp>> {
        runs.iter().map(|run| self.runs.get(run)?.expires_at).collect()
    }
}
