-- The history of one batch after a place.
SELECT id, batch, version, at, entries
  FROM batch_history INDEXED BY batch_history_by_batch
 WHERE batch = ?3 AND id > ?1
 ORDER BY id
 LIMIT ?2
