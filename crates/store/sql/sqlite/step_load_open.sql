-- The same for a decision: what ended steps were given and what they returned is left out.
SELECT position, status, attempt, tries, lease_id, lease_stage, lease_expires_at, pool, rank, lane,
       poll_count, kind, iif(ended_at IS NULL, params, NULL), iif(ended_at IS NULL, result, NULL), detail,
       error_code, error_message, wake_at, dispatched_at, ended_at
  FROM step
 WHERE run_id = ?1
