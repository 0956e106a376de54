-- Puts messages off after a failed try; nobody keeps them any more.
UPDATE outbox
   SET tries      = outbox.tries + 1,
       due_at     = new.due_at,
       kept_until = 0
  FROM unnest($1::bigint[], $2::bigint[]) AS new (id, due_at)
 WHERE outbox.id = new.id
