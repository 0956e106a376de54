-- What never changes about runs; written once, however often a run moves.
INSERT INTO run_header (run_id, resumes, input, special, context, lane, routing_key, priority,
                        traceparent, actor, idempotency_hash)
SELECT new.run_id, resumes, input, special, context, lane, routing_key, priority, traceparent, actor,
       idempotency_hash
  FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::integer[], $7::text[],
              $8::integer[], $9::text[], $10::text[], $11::bytea[])
       AS new (run_id, resumes, input, special, context, lane, routing_key, priority, traceparent,
               actor, idempotency_hash)
  JOIN run ON run.id = new.run_id AND run.xmin = pg_current_xact_id()::xid
