-- The same for a decision: what ended steps of batches' runs were given and what they returned is left out.
-- Other runs may have steps with items, whose results are gathered.
SELECT step.run_id, step.position, step.status, step.attempt, step.tries, step.lease_id, step.lease_stage,
       step.lease_expires_at, step.pool, step.rank, step.lane, step.poll_count, step.kind,
       CASE WHEN step.ended_at IS NULL OR header.batch IS NULL THEN step.params END,
       CASE WHEN step.ended_at IS NULL OR header.batch IS NULL THEN step.result END,
       step.detail, step.error_code, step.error_message, step.wake_at, step.dispatched_at, step.ended_at
  FROM run_header AS header
  JOIN step ON step.run_id = header.run_id
 WHERE header.run_id = ANY($1)
