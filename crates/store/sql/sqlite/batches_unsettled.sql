-- The batches in which something is still to be done, newest first. There are few.
SELECT id
  FROM batch INDEXED BY batch_unsettled
 WHERE settled = 0
   AND (?1 IS NULL OR tenant = ?1)
   AND (?2 IS NULL OR runbook = ?2)
   AND (?3 IS NULL OR status IN (SELECT value FROM json_each(?3)))
   AND (?4 IS NULL OR mode = ?4)
   AND (?5 IS NULL OR slot = ?5)
 ORDER BY id DESC
