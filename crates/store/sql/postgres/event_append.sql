-- Appends to the log of events what is told of work that was given up, in order.
INSERT INTO event (tenant, dialect, run_id, kind, body, at)
SELECT tenant, dialect, run_id, kind, body, at
  FROM unnest($1::text[], $2::text[], $3::uuid[], $4::text[], $5::text[], $6::bigint[])
       WITH ORDINALITY AS new (tenant, dialect, run_id, kind, body, at, place)
 ORDER BY place
