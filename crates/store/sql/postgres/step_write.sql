-- Writes steps of the runs that this transaction has moved, whether or not they have a row.
--
-- Whatever hangs on a run is joined to the row version that this transaction made (its xmin): a stale
-- run is left out with all that belongs to it, without a round trip to find out.
MERGE INTO step
USING (SELECT new.*, run.owner
         FROM unnest($1::uuid[], $2::integer[], $3::text[], $4::text[], $5::integer[],
                     $6::integer[], $7::uuid[], $8::text[], $9::bigint[], $10::text[],
                     $11::integer[], $12::integer[], $13::integer[], $14::text[], $15::text[],
                     $16::text[], $17::text[], $18::text[], $19::text[], $20::bigint[],
                     $21::bigint[], $22::bigint[])
              AS new (run_id, position, node, status, attempt, tries, lease_id, lease_stage,
                      lease_expires_at, pool, rank, lane, poll_count, kind, params, result, detail,
                      error_code, error_message, wake_at, dispatched_at, ended_at)
         JOIN run ON run.id = new.run_id AND run.xmin = pg_current_xact_id()::xid) AS new
   ON step.run_id = new.run_id AND step.position = new.position
 WHEN MATCHED THEN UPDATE
  SET owner            = new.owner,
      node             = new.node,
      status           = new.status,
      attempt          = new.attempt,
      tries            = new.tries,
      lease_id         = new.lease_id,
      lease_stage      = new.lease_stage,
      lease_expires_at = new.lease_expires_at,
      pool             = new.pool,
      rank             = new.rank,
      lane             = new.lane,
      poll_count       = new.poll_count,
      kind             = new.kind,
      params           = new.params,
      result           = new.result,
      detail           = new.detail,
      error_code       = new.error_code,
      error_message    = new.error_message,
      wake_at          = new.wake_at,
      dispatched_at    = new.dispatched_at,
      ended_at         = new.ended_at
 WHEN NOT MATCHED THEN INSERT
      (run_id, position, owner, node, status, attempt, tries, lease_id, lease_stage,
       lease_expires_at, pool, rank, lane, poll_count, kind, params, result, detail, error_code,
       error_message, wake_at, dispatched_at, ended_at)
      VALUES
      (new.run_id, new.position, new.owner, new.node, new.status, new.attempt, new.tries, new.lease_id,
       new.lease_stage, new.lease_expires_at, new.pool, new.rank, new.lane, new.poll_count,
       new.kind, new.params, new.result, new.detail, new.error_code, new.error_message, new.wake_at,
       new.dispatched_at, new.ended_at)
