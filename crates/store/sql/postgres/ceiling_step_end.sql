-- Ends steps without asking anything, for measurements.
UPDATE step
   SET node             = new.node,
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
  FROM unnest($1::uuid[], $2::integer[], $3::text[], $4::text[], $5::integer[], $6::integer[],
              $7::uuid[], $8::text[], $9::bigint[], $10::text[], $11::integer[], $12::integer[],
              $13::integer[], $14::text[], $15::text[], $16::text[], $17::text[], $18::text[],
              $19::text[], $20::bigint[], $21::bigint[], $22::bigint[])
       AS new (run_id, position, node, status, attempt, tries, lease_id, lease_stage,
               lease_expires_at, pool, rank, lane, poll_count, kind, params, result, detail,
               error_code, error_message, wake_at, dispatched_at, ended_at)
 WHERE step.run_id = new.run_id AND step.position = new.position
