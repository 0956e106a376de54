-- Takes idempotency keys for runs that are about to be created. One that is missing in the answer is
-- taken. If another instance is taking it just now, this waits for the end of that: it is never an
-- error, and sorted, so that two never wait for each other. Of two in one group the first wins.
INSERT INTO idempotency (tenant, hash, run_id, request_hash, created_at)
SELECT tenant, hash, run_id, request_hash, created_at
  FROM unnest($1::text[], $2::bytea[], $3::uuid[], $4::bytea[], $5::bigint[])
       WITH ORDINALITY AS new (tenant, hash, run_id, request_hash, created_at, place)
 ORDER BY tenant COLLATE "C", hash, place
    ON CONFLICT (tenant, hash) DO NOTHING
RETURNING run_id
