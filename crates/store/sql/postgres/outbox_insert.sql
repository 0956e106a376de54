-- Promises messages to the outside, with the decisions that want them sent, numbered in their order.
INSERT INTO outbox (run_id, kind, destination, body, due_at)
SELECT new.run_id, new.kind, new.destination, new.body, new.due_at
  FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::bigint[])
       WITH ORDINALITY AS new (run_id, kind, destination, body, due_at, place)
  JOIN run ON run.id = new.run_id AND run.xmin = pg_current_xact_id()::xid
 ORDER BY new.place
