-- A part of the batches of a runbook, newest first.
SELECT id
  FROM batch INDEXED BY batch_by_runbook
 WHERE runbook = ?2
   AND (?1 IS NULL OR tenant = ?1)
   AND (?3 IS NULL OR status IN (SELECT value FROM json_each(?3)))
   AND (?4 IS NULL OR mode = ?4)
   AND (?5 IS NULL OR slot = ?5)
 ORDER BY id DESC
 LIMIT ?6 OFFSET ?7
