-- Messages to the outside that are due, oldest first, kept from other instances for a while.
WITH due AS (
    SELECT id
      FROM outbox
     WHERE due_at <= $1 AND kept_until <= $1
     ORDER BY due_at, id
     LIMIT $3
       FOR NO KEY UPDATE SKIP LOCKED
), kept AS (
    UPDATE outbox
       SET kept_until = $2
      FROM due
     WHERE outbox.id = due.id
    RETURNING outbox.*
)
SELECT kept.id, kept.run_id, coalesce(run.tenant, kept.tenant), coalesce(run.dialect, kept.dialect),
       kept.tries, kept.kind, kept.destination, kept.body, kept.due_at
  FROM kept
  LEFT JOIN run ON run.id = kept.run_id
