-- Members of a runbook's batches that have not ended, who have not left.
SELECT member.key, member.batch
  FROM batch
  JOIN batch_member AS member ON member.batch = batch.id AND member.removed_at IS NULL
 WHERE batch.runbook = $1 AND batch.ended_at IS NULL
