-- Takes the first orders of a queue that nobody has.
UPDATE submission
   SET deliveries = deliveries + 1, locked_until = ?3
 WHERE id IN (SELECT id FROM submission INDEXED BY submission_by_place
               WHERE queue = ?1 AND locked_until <= ?2
               ORDER BY place, id
               LIMIT ?4)
RETURNING id, deliveries, queue, message_id, workflow, priority, body, enqueued_at, expires_at
