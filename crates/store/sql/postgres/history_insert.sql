-- Appends decisions to the histories of the runs that this transaction has moved.
INSERT INTO history (run_id, version, at, entries)
SELECT new.run_id, new.version, new.at, new.entries
  FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::text[]) AS new (run_id, version, at, entries)
  JOIN run ON run.id = new.run_id AND run.xmin = pg_current_xact_id()::xid
