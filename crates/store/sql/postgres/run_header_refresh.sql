-- Writes what a run was given anew, for runs that this transaction has moved.
UPDATE run_header
   SET input   = new.input,
       special = new.special
  FROM unnest($1::uuid[], $2::text[], $3::text[]) AS new (run_id, input, special)
  JOIN run ON run.id = new.run_id AND run.xmin = pg_current_xact_id()::xid
 WHERE run_header.run_id = new.run_id
