-- A part of the batches, newest first; how many there are is another question.
SELECT id, tenant, runbook, mode, slot, actor, created_at, version, status, paused, runbook_version, start,
       advanced_at, init, init_dispatched_at, sweeps, current_phase, joined, removed, open, succeeded,
       failed, cancelled, updated_at, ended_at
  FROM batch
 WHERE ($1 IS NULL OR tenant = $1)
   AND ($2 IS NULL OR runbook = $2)
   AND ($3 IS NULL OR status = ANY($3))
   AND ($4 IS NULL OR mode = $4)
   AND ($5 IS NULL OR slot = $5)
   AND (NOT $6 OR NOT settled)
 ORDER BY id DESC
OFFSET $7
 LIMIT $8
