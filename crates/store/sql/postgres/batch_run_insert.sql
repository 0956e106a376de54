-- Gives numbers to those runs of batches that this transaction has made.
INSERT INTO batch_run (number, run_id, batch, member, role)
SELECT new.number, new.run_id, new.batch, new.member, new.role
  FROM unnest($1::bigint[], $2::uuid[], $3::bigint[], $4::bigint[], $5::text[])
       AS new (number, run_id, batch, member, role)
  JOIN run ON run.id = new.run_id AND run.xmin = pg_current_xact_id()::xid
