-- A member leaves, if it has not left before.
UPDATE batch_member SET removed_at = ?3, removed_by = ?4 WHERE id = ?1 AND batch = ?2 AND removed_at IS NULL
