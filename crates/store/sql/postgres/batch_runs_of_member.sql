-- Runs of one member, oldest first.
SELECT number, run_id, batch, member, role
  FROM batch_run
 WHERE member = $3 AND batch = $1 AND ($2::text IS NULL OR role = $2)
 ORDER BY number
