-- A page of the dead letters that nobody has settled, newest first.
SELECT id, run_id, message, tenant, workflow, reason, step, error_code, error_message, at, settlement
  FROM dead_letter INDEXED BY dead_letter_open
 WHERE settled = 0 AND id < ?6
   AND (?1 IS NULL OR tenant = ?1)
   AND (?2 IS NULL OR workflow = ?2)
   AND (?3 IS NULL OR run_id = ?3)
 ORDER BY id DESC
 LIMIT ?7
