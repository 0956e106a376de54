-- Who holds some idempotency keys, their new holders included.
SELECT key.tenant, key.hash, key.run_id, key.request_hash, key.created_at
  FROM unnest($1::text[], $2::bytea[]) AS wanted (tenant, hash)
  JOIN idempotency AS key ON key.tenant = wanted.tenant AND key.hash = wanted.hash
