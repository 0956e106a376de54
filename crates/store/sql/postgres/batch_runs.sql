-- Runs of a batch in some roles, oldest first.
SELECT number, run_id, batch, member, role
  FROM batch_run
 WHERE batch = $1 AND role = ANY($2)
 ORDER BY number
