-- A page of the runs with one correlation id, newest first. There are few of them.
SELECT id
  FROM run INDEXED BY run_by_correlation
 WHERE correlation_id = ?4
   AND (?1 IS NULL OR tenant = ?1)
   AND (?2 IS NULL OR status = ?2)
   AND (?3 IS NULL OR workflow = ?3)
   AND id < ?9
   AND (?5 IS NULL OR dialect = ?5)
   AND (?6 IS NULL OR created_at >= ?6)
   AND (?7 IS NULL OR created_at < ?7)
   AND (?8 OR parent_run IS NULL)
 ORDER BY id DESC
 LIMIT ?10
