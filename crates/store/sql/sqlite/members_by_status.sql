-- A part of the members of a batch in these statuses, by number. A run that retention has deleted is
-- known by its stub.
SELECT member.id
  FROM batch_member AS member INDEXED BY batch_member_by_batch
  LEFT JOIN run ON run.id = member.run_id
 WHERE member.batch = ?1 AND member.id > ?2
   AND CASE
           WHEN member.removed_at IS NOT NULL THEN ?5
           WHEN coalesce(run.status, (SELECT status FROM stub WHERE stub.run_id = member.run_id))
                = 'failed' THEN ?6
           ELSE ?7
       END
 ORDER BY member.id
 LIMIT ?3 OFFSET ?4
