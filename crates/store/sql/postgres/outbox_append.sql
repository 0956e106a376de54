-- Promises messages to the outside about work that was given up, numbered in their order.
INSERT INTO outbox (run_id, tenant, dialect, kind, destination, body, due_at)
SELECT run_id, tenant, dialect, kind, destination, body, due_at
  FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[])
       WITH ORDINALITY AS new (run_id, tenant, dialect, kind, destination, body, due_at, place)
 ORDER BY place
