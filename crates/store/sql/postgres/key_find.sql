-- Who holds an idempotency key.
SELECT run_id, request_hash, created_at FROM idempotency WHERE tenant = $1 AND hash = $2
