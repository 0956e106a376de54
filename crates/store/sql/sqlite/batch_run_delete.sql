-- The number of a run that is deleted, unless it is that of the run it undoes.
DELETE FROM batch_run
 WHERE number = (SELECT number FROM run_header WHERE run_id = ?1)
   AND run_id = ?1
