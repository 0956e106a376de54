-- The member of a batch with a key, and those with the same key that have left.
SELECT id FROM batch_member INDEXED BY batch_member_by_key
 WHERE batch = ?1 AND key = ?2 AND removed_at IS NULL
 UNION ALL
SELECT id FROM batch_member INDEXED BY batch_member_removed
 WHERE batch = ?1 AND key = ?2 AND removed_at IS NOT NULL
