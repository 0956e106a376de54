-- The events of a kind after a place, oldest first. Whoever asks stops when it has enough.
SELECT id, tenant, dialect, run_id, kind, body, at
  FROM event INDEXED BY event_by_kind
 WHERE kind = ?2 AND id > ?1
 ORDER BY id
