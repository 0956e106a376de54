-- A page of dead letters, newest first.
SELECT id, run_id, message, tenant, workflow, reason, step, error_code, error_message, at, settlement
  FROM dead_letter NOT INDEXED
 WHERE id < ?6
   AND (?1 IS NULL OR tenant = ?1)
   AND (?2 IS NULL OR workflow = ?2)
   AND (?3 IS NULL OR run_id = ?3)
   AND (?5 OR settled = 0)
 ORDER BY id DESC
 LIMIT ?7
