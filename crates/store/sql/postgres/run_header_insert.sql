-- What is true of runs from their first moment on, however often they move.
INSERT INTO run_header (run_id, resumes, input, special, context, lane, routing_key, priority,
                        traceparent, actor, idempotency_hash, batch, member, role, number, terms)
SELECT new.run_id, resumes, input, special, context, lane, routing_key, priority, traceparent, actor,
       idempotency_hash, batch, member, role, number, terms
  FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::integer[], $7::text[],
              $8::integer[], $9::text[], $10::text[], $11::bytea[], $12::bigint[], $13::bigint[],
              $14::text[], $15::bigint[], $16::text[])
       AS new (run_id, resumes, input, special, context, lane, routing_key, priority, traceparent,
               actor, idempotency_hash, batch, member, role, number, terms)
  JOIN run ON run.id = new.run_id AND run.xmin = pg_current_xact_id()::xid
