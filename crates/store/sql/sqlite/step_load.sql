-- The steps of one run to which something has happened.
SELECT position, status, attempt, tries, lease_id, lease_stage, lease_expires_at, pool, rank, lane,
       poll_count, kind, params, result, detail, error_code, error_message, wake_at, dispatched_at, ended_at
  FROM step
 WHERE run_id = ?1
