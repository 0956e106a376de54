-- Dispatches steps without asking anything, for measurements.
INSERT INTO step (run_id, position, owner, node, status, attempt, tries, lease_id, lease_stage,
                  lease_expires_at, pool, rank, lane, poll_count, kind, params, result, detail,
                  error_code, error_message, wake_at, dispatched_at, ended_at)
SELECT run_id, position, 0, node, status, attempt, tries, lease_id, lease_stage, lease_expires_at,
       pool, rank, lane, poll_count, kind, params, result, detail, error_code, error_message,
       wake_at, dispatched_at, ended_at
  FROM unnest($1::uuid[], $2::integer[], $3::text[], $4::text[], $5::integer[], $6::integer[],
              $7::uuid[], $8::text[], $9::bigint[], $10::text[], $11::integer[], $12::integer[],
              $13::integer[], $14::text[], $15::text[], $16::text[], $17::text[], $18::text[],
              $19::text[], $20::bigint[], $21::bigint[], $22::bigint[])
       AS new (run_id, position, node, status, attempt, tries, lease_id, lease_stage,
               lease_expires_at, pool, rank, lane, poll_count, kind, params, result, detail,
               error_code, error_message, wake_at, dispatched_at, ended_at)
