-- Creates batches. Counters begin with zero.
INSERT INTO batch (id, version, status, paused, runbook_version, start, advanced_at, init,
                   init_dispatched_at, sweeps, current_phase, joined, removed, updated_at, ended_at,
                   wake_at, settled, tenant, runbook, mode, slot, actor, created_at)
SELECT *
  FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::boolean[], $5::integer[], $6::bigint[],
              $7::bigint[], $8::text[], $9::bigint[], $10::text[], $11::text[], $12::bigint[],
              $13::bigint[], $14::bigint[], $15::bigint[], $16::bigint[], $17::boolean[], $18::text[],
              $19::text[], $20::text[], $21::bigint[], $22::text[], $23::bigint[])
