-- The phases of some batches.
SELECT batch, id, name, version, gate, offset_minutes, steps, due_at, status, dispatched_at, completed_at,
       open, succeeded, failed, cancelled, skipped, steps_ended
  FROM batch_phase
 WHERE batch = ANY($1)
