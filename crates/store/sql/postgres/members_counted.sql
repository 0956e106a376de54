-- Counts of a batch's members: all who joined, who left, whose run failed, and who did both. Only those
-- who left are looked at one by one; everything else was counted when it happened.
SELECT joined, removed, failed,
       (SELECT count(*)
          FROM batch_member AS member
          LEFT JOIN run ON run.id = member.run_id
         WHERE member.batch = $1
           AND member.removed_at IS NOT NULL
           AND coalesce(run.status, (SELECT stub.status FROM stub WHERE stub.run_id = member.run_id))
               = 'failed')
  FROM batch
 WHERE id = $1
