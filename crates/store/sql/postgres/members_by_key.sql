-- The members of a batch with some keys, and those with the same keys that have left.
SELECT id FROM batch_member WHERE batch = $1 AND key = ANY($2) AND removed_at IS NULL
 UNION ALL
SELECT id FROM batch_member WHERE batch = $1 AND key = ANY($2) AND removed_at IS NOT NULL
