-- Messages to the outside that are due, oldest first, kept from other instances for a while.
WITH due AS (
    SELECT id
      FROM outbox
     WHERE due_at <= $1 AND kept_until <= $1
     ORDER BY due_at, id
     LIMIT $3
       FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE outbox
   SET kept_until = $2
  FROM due
 WHERE outbox.id = due.id
RETURNING outbox.id, outbox.run_id, outbox.tries, outbox.kind, outbox.destination, outbox.body,
          outbox.due_at
