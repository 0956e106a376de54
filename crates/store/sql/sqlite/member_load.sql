-- One member with where its newest run stands. A run that retention has deleted is known by its stub.
SELECT member.id, member.batch, member.key, member.data_hash, member.run_id,
       coalesce(run.status, stub.status), run.current_step, member.added_at,
       iif(run.id IS NULL, stub.ended_at, run.ended_at), member.removed_at, member.removed_by,
       member.removal_dispatched_at
  FROM batch_member AS member
  LEFT JOIN run ON run.id = member.run_id
  LEFT JOIN stub ON run.id IS NULL AND stub.run_id = member.run_id
 WHERE member.id = ?1 AND member.batch = ?2
