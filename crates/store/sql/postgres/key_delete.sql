-- Frees the idempotency keys of some runs.
DELETE FROM idempotency
 USING run
  JOIN run_header AS header ON header.run_id = run.id
 WHERE run.id             = ANY($1)
   AND idempotency.tenant = run.tenant
   AND idempotency.hash   = header.idempotency_hash
