-- A part of all batches, newest first: the order of the primary key itself.
SELECT id
  FROM batch NOT INDEXED
 WHERE (?1 IS NULL OR tenant = ?1)
   AND (?3 IS NULL OR status IN (SELECT value FROM json_each(?3)))
   AND (?4 IS NULL OR mode = ?4)
   AND (?5 IS NULL OR slot = ?5)
 ORDER BY id DESC
 LIMIT ?6 OFFSET ?7
