-- Puts orders in their queues. One that is missing in the answer waits there already.
INSERT INTO submission (queue, message_id, workflow, priority, body, enqueued_at, expires_at, place)
SELECT queue, message_id, workflow, priority, body, enqueued_at, expires_at, new.place
  FROM unnest($1::text[], $2::text[], $3::text[], $4::integer[], $5::text[], $6::bigint[],
              $7::bigint[], $8::bigint[])
       AS new (queue, message_id, workflow, priority, body, enqueued_at, expires_at, place)
    ON CONFLICT (queue, message_id) DO NOTHING
RETURNING queue, message_id
