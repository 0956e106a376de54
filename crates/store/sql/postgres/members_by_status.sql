-- A part of the members of a batch that stand somewhere, by number. Where a member stands is known from its
-- newest run, or from what retention has left of it.
SELECT member.id, member.batch, member.key, member.data_hash, member.run_id, member.run_status,
       member.current_step, member.added_at, member.ended_at, member.removed_at, member.removed_by,
       member.removal_dispatched_at
  FROM (SELECT batch_member.*, run.current_step,
               coalesce(run.status, (SELECT stub.status FROM stub
                                      WHERE stub.run_id = batch_member.run_id)) AS run_status,
               coalesce(run.ended_at, (SELECT stub.ended_at FROM stub
                                        WHERE stub.run_id = batch_member.run_id
                                          AND run.id IS NULL)) AS ended_at
          FROM batch_member
          LEFT JOIN run ON run.id = batch_member.run_id
         WHERE batch = $1
           AND batch_member.id > $2
           AND ($3 IS NULL OR batch_member.id = ANY($3))
           AND (NOT $4 OR (removed_at IS NOT NULL AND removal_dispatched_at IS NULL))) AS member
 WHERE CASE
           WHEN member.removed_at IS NOT NULL  THEN 'removed'
           WHEN member.run_status = 'failed'   THEN 'failed'
           ELSE 'active'
       END = ANY($7)
 ORDER BY member.id
OFFSET $5
 LIMIT $6
