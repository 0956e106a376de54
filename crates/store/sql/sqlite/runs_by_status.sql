-- A page of all runs in one status, newest first: the index gives them in that order.
SELECT id
  FROM run INDEXED BY run_by_status
 WHERE status = ?2
   AND id < ?9
   AND (?5 IS NULL OR dialect = ?5)
   AND (?6 IS NULL OR created_at >= ?6)
   AND (?7 IS NULL OR created_at < ?7)
   AND (?8 OR parent_run IS NULL)
 ORDER BY id DESC
 LIMIT ?10
