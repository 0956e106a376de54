-- How many members of a batch match.
SELECT count(*)
  FROM batch_member
 WHERE batch = $1
   AND id > $2
   AND ($3 IS NULL OR id = ANY($3))
   AND (NOT $4 OR (removed_at IS NOT NULL AND removal_dispatched_at IS NULL))
