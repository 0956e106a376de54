-- The history of a run from a version on, oldest first.
SELECT version, at, entries FROM history WHERE run_id = $1 AND version > $2 ORDER BY version LIMIT $3
