-- The steps of some runs to which something has happened.
SELECT run_id, position, status, attempt, tries, lease_id, lease_stage, lease_expires_at, pool, rank,
       lane, poll_count, kind, params, result, detail, error_code, error_message, wake_at,
       dispatched_at, ended_at
  FROM step
 WHERE run_id = ANY($1)
