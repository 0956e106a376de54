-- When runs may be deleted.
SELECT id, expires_at FROM run WHERE id = ANY($1)
