-- When a run may be deleted.
SELECT expires_at FROM run WHERE id = ?1
