-- Moves runs on without asking anything: what a step completion writes to a run, for measurements.
UPDATE run
   SET owner         = $1,
       version       = new.version,
       attempt       = new.attempt,
       paused        = new.paused,
       cancel        = new.cancel,
       gates_open    = new.gates_open,
       outputs       = new.outputs,
       current_step  = new.current_step,
       error_code    = new.error_code,
       error_message = new.error_message,
       updated_at    = new.updated_at,
       started_at    = new.started_at,
       status        = new.status,
       retry_at      = new.retry_at,
       wake_at       = CASE WHEN new.ended_at IS NULL THEN least(run.wake_at, new.wake_at) END,
       ended_at      = new.ended_at,
       expires_at    = new.expires_at,
       credits_reserved = new.credits_reserved,
       credits_spent = new.credits_spent
  FROM unnest($2::uuid[], $3::bigint[], $4::bigint[], $5::integer[], $6::boolean[], $7::text[],
              $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::bigint[],
              $14::bigint[], $15::text[], $16::bigint[], $17::bigint[], $18::bigint[],
              $19::bigint[], $20::bigint[], $21::bigint[])
       AS new (id, from_version, version, attempt, paused, cancel, gates_open, outputs,
               current_step, error_code, error_message, updated_at, started_at, status, retry_at,
               wake_at, ended_at, expires_at, credits_reserved, credits_spent)
 WHERE run.id = new.id
