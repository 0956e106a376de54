-- Members of a batch who left, and for whom nothing was begun yet.
SELECT id
  FROM batch_member INDEXED BY batch_member_removed
 WHERE batch = ?1 AND removed_at IS NOT NULL AND removal_dispatched_at IS NULL
