-- All events after a place, oldest first. Whoever asks stops when it has enough.
SELECT id, tenant, dialect, run_id, kind, body, at
  FROM event
 WHERE id > ?1
 ORDER BY id
