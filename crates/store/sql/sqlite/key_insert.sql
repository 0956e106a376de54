-- Takes an idempotency key for a run, in the transaction that creates the run.
INSERT INTO idempotency (tenant, hash, run_id, request_hash, created_at) VALUES (?1, ?2, ?3, ?4, ?5)
