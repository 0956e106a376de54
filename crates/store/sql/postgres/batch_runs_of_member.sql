-- Runs of one member in some roles, oldest first.
SELECT number, run_id, batch, member, role
  FROM batch_run
 WHERE batch = $1 AND role = ANY($2) AND member = $3
 ORDER BY number
