-- Who is a member of a batch of a runbook that has not ended.
SELECT member.key, member.batch
  FROM batch INDEXED BY batch_by_runbook
  JOIN batch_member AS member INDEXED BY batch_member_by_key ON member.batch = batch.id
 WHERE batch.runbook = ?1 AND batch.ended_at IS NULL AND member.removed_at IS NULL
