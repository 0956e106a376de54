-- The history of one batch after a place, oldest first.
SELECT id, batch, version, at, entries
  FROM batch_history
 WHERE batch = $3 AND id > $1
 ORDER BY id
 LIMIT $2
