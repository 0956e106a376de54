-- The history of all batches after a place, oldest first.
SELECT id, batch, version, at, entries FROM batch_history WHERE id > $1 ORDER BY id LIMIT $2
