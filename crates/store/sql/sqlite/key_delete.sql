-- Frees the idempotency key of a run.
DELETE FROM idempotency
 WHERE (tenant, hash) = (SELECT run.tenant, header.idempotency_hash
                           FROM run
                           JOIN run_header AS header ON header.run_id = run.id
                          WHERE run.id = ?1)
