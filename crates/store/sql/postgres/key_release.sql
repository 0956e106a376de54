-- Gives keys back that were taken for runs which their tenant has no room for.
DELETE FROM idempotency
 USING unnest($1::text[], $2::bytea[], $3::uuid[]) AS taken (tenant, hash, run_id)
 WHERE idempotency.tenant = taken.tenant
   AND idempotency.hash   = taken.hash
   AND idempotency.run_id = taken.run_id
