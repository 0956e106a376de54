-- The batches of a runbook with one moment, newest first. There are few.
SELECT id
  FROM batch INDEXED BY batch_by_slot
 WHERE runbook = ?2
   AND slot = ?5
   AND (?1 IS NULL OR tenant = ?1)
   AND (?3 IS NULL OR status IN (SELECT value FROM json_each(?3)))
   AND (?4 IS NULL OR mode = ?4)
   AND (?6 = 0 OR settled = 0)
 ORDER BY id DESC
