-- How many members of a batch that stand somewhere match.
SELECT count(*)
  FROM batch_member
  LEFT JOIN run ON run.id = batch_member.run_id
 WHERE batch = $1
   AND batch_member.id > $2
   AND ($3 IS NULL OR batch_member.id = ANY($3))
   AND (NOT $4 OR (removed_at IS NOT NULL AND removal_dispatched_at IS NULL))
   AND CASE
           WHEN removed_at IS NOT NULL THEN 'removed'
           WHEN coalesce(run.status, (SELECT stub.status FROM stub
                                       WHERE stub.run_id = batch_member.run_id)) = 'failed' THEN 'failed'
           ELSE 'active'
       END = ANY($5)
