-- Moves the counters of batches by what the runs that this transaction has moved say: one sum for each
-- batch, in order, so that two who count in the same ones never wait for each other.
UPDATE batch
   SET open      = batch.open + moved.open,
       succeeded = batch.succeeded + moved.succeeded,
       failed    = batch.failed + moved.failed,
       cancelled = batch.cancelled + moved.cancelled
  FROM (SELECT new.batch, sum(new.open)::bigint AS open, sum(new.succeeded)::bigint AS succeeded,
               sum(new.failed)::bigint AS failed, sum(new.cancelled)::bigint AS cancelled
          FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[])
               AS new (run_id, batch, open, succeeded, failed, cancelled)
          JOIN run ON run.id = new.run_id AND run.xmin = pg_current_xact_id()::xid
         GROUP BY new.batch
         ORDER BY new.batch) AS moved
 WHERE batch.id = moved.batch
