-- Takes the first orders of a queue that nobody has; what somebody is taking just now is passed over. The
-- lock is compared as a sum, which no index has: a long queue is walked in its order, never sorted.
WITH free AS (
    SELECT id
      FROM submission
     WHERE queue = $1 AND locked_until + 0 <= $2
     ORDER BY place, id
     LIMIT $4
       FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE submission
   SET deliveries   = submission.deliveries + 1,
       locked_until = $3
  FROM free
 WHERE submission.id = free.id
RETURNING submission.id, submission.deliveries, submission.queue, submission.message_id,
          submission.workflow, submission.priority, submission.body, submission.enqueued_at,
          submission.expires_at
