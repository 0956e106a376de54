-- A page of all runs, newest first: the order of the primary key itself.
SELECT id
  FROM run NOT INDEXED
 WHERE id < ?9
   AND (?5 IS NULL OR dialect = ?5)
   AND (?6 IS NULL OR created_at >= ?6)
   AND (?7 IS NULL OR created_at < ?7)
   AND (?8 OR parent_run IS NULL)
 ORDER BY id DESC
 LIMIT ?10
