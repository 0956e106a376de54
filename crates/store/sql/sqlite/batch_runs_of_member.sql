-- Runs of one member in one role.
SELECT number, run_id, batch, member, role
  FROM batch_run INDEXED BY batch_run_by_batch
 WHERE batch = ?1 AND role = ?2 AND member = ?3
