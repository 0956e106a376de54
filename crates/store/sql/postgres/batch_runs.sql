-- Runs of a batch by what they do, oldest first.
SELECT number, run_id, batch, member, role
  FROM batch_run
 WHERE batch = $1 AND ($2::text IS NULL OR role = $2)
 ORDER BY number
