-- Creates runs. One that is missing in the answer exists: this very creation was committed before; or
-- somebody else holds its idempotency key. A run that another decision caused (`cause`) is created
-- with that decision or not at all; if it exists, something is wrong, and the transaction fails.
INSERT INTO run (id, owner, tenant, dialect, workflow, workflow_version, compensation, parent_run,
                 parent_step, correlation_id, created_at, step_count, version, status, attempt,
                 paused, cancel, gates_open, outputs, current_step, error_code, error_message,
                 retry_at, wake_at, updated_at, started_at, ended_at, expires_at,
                 credits_reserved, credits_spent)
SELECT id, $1, tenant, dialect, workflow, workflow_version, compensation, parent_run, parent_step,
       correlation_id, created_at, step_count, version, status, attempt, paused, cancel, gates_open,
       outputs, current_step, error_code, error_message, retry_at, wake_at, updated_at, started_at,
       ended_at, expires_at, credits_reserved, credits_spent
  FROM unnest($2::uuid[], $3::text[], $4::text[], $5::text[], $6::integer[], $7::text[],
              $8::uuid[], $9::integer[], $10::text[], $11::bigint[], $12::integer[],
              $13::bigint[], $14::text[], $15::integer[], $16::boolean[], $17::text[], $18::text[],
              $19::text[], $20::text[], $21::text[], $22::text[], $23::bigint[], $24::bigint[],
              $25::bigint[], $26::bigint[], $27::bigint[], $28::bigint[], $29::bytea[], $30::uuid[],
              $31::bigint[], $32::bigint[])
       AS new (id, tenant, dialect, workflow, workflow_version, compensation, parent_run,
               parent_step, correlation_id, created_at, step_count, version, status, attempt,
               paused, cancel, gates_open, outputs, current_step, error_code, error_message,
               retry_at, wake_at, updated_at, started_at, ended_at, expires_at, idempotency_hash,
               cause, credits_reserved, credits_spent)
 WHERE NOT EXISTS (SELECT FROM run AS known WHERE known.id = new.id AND new.cause IS NULL)
   AND (cause IS NULL
        OR EXISTS (SELECT FROM run AS moved
                    WHERE moved.id = new.cause AND moved.xmin = pg_current_xact_id()::xid))
       -- The key is taken a statement ago, in the same transaction.
   AND (idempotency_hash IS NULL
        OR EXISTS (SELECT FROM idempotency AS key
                    WHERE key.tenant = new.tenant
                      AND key.hash   = new.idempotency_hash
                      AND key.run_id = new.id))
RETURNING id
