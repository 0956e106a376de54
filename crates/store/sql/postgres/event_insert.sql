-- Appends to the log of events what the decisions of this transaction tell others, in their order.
INSERT INTO event (tenant, dialect, run_id, kind, body, at)
SELECT new.tenant, new.dialect, new.run_id, new.kind, new.body, new.at
  FROM unnest($1::uuid[], $2::text[], $3::text[], $4::uuid[], $5::text[], $6::text[], $7::bigint[])
       WITH ORDINALITY AS new (cause, tenant, dialect, run_id, kind, body, at, place)
  JOIN run ON run.id = new.cause AND run.xmin = pg_current_xact_id()::xid
 ORDER BY new.place
