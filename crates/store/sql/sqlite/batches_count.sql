-- How many batches there are, from an index that holds all that is asked.
SELECT count(*)
  FROM batch INDEXED BY batch_to_count
 WHERE (?1 IS NULL OR tenant = ?1)
   AND (?2 IS NULL OR runbook = ?2)
   AND (?3 IS NULL OR status IN (SELECT value FROM json_each(?3)))
   AND (?4 IS NULL OR mode = ?4)
   AND (?5 IS NULL OR slot = ?5)
