-- Who is a member of a batch of a runbook that has not ended: it is among the few unsettled ones.
SELECT member.key, member.batch
  FROM batch INDEXED BY batch_unsettled
  JOIN batch_member AS member INDEXED BY batch_member_by_key ON member.batch = batch.id
 WHERE batch.settled = 0 AND batch.runbook = ?1 AND batch.ended_at IS NULL AND member.removed_at IS NULL
