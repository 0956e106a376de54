-- Runs of a batch in one role, for all its members or one.
SELECT number, run_id, batch, member, role
  FROM batch_run INDEXED BY batch_run_by_batch
 WHERE batch = ?1 AND role = ?2
