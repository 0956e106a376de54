-- The events about a run after a place, oldest first. Whoever asks stops when it has enough.
SELECT id, tenant, dialect, run_id, kind, body, at
  FROM event INDEXED BY event_by_run
 WHERE run_id = ?2 AND id > ?1
 ORDER BY id
