-- The same for their phases, after the batches themselves.
UPDATE batch_phase
   SET open        = batch_phase.open + moved.open,
       succeeded   = batch_phase.succeeded + moved.succeeded,
       failed      = batch_phase.failed + moved.failed,
       cancelled   = batch_phase.cancelled + moved.cancelled,
       skipped     = batch_phase.skipped + moved.skipped,
       steps_ended = batch_phase.steps_ended + moved.steps_ended
  FROM (SELECT new.batch, new.gate, sum(new.open)::bigint AS open,
               sum(new.succeeded)::bigint AS succeeded, sum(new.failed)::bigint AS failed,
               sum(new.cancelled)::bigint AS cancelled, sum(new.skipped)::bigint AS skipped,
               sum(new.steps_ended)::bigint AS steps_ended
          FROM unnest($1::uuid[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[],
                      $7::bigint[], $8::bigint[], $9::bigint[])
               AS new (run_id, batch, gate, open, succeeded, failed, cancelled, skipped, steps_ended)
          JOIN run ON run.id = new.run_id AND run.xmin = pg_current_xact_id()::xid
         GROUP BY new.batch, new.gate
         ORDER BY new.batch, new.gate COLLATE "C") AS moved
 WHERE batch_phase.batch = moved.batch AND batch_phase.gate = moved.gate
