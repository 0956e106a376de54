-- Some batches, newest first.
SELECT id, tenant, runbook, mode, slot, actor, created_at, version, status, paused, runbook_version, start,
       advanced_at, init, init_dispatched_at, sweeps, current_phase, joined, removed, open, succeeded,
       failed, cancelled, updated_at, ended_at
  FROM batch
 WHERE id = ANY($1)
 ORDER BY id DESC
