-- How many members of a batch match.
SELECT count(*)
  FROM batch_member
 WHERE batch = $1
   AND id > $2
   AND ($3 IS NULL OR key = ANY($3))
   AND ($4 IS NULL OR id = ANY($4))
   AND (NOT $5 OR (removed_at IS NOT NULL AND removal_dispatched_at IS NULL))
