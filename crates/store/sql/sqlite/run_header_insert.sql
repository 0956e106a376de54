-- What hardly ever changes about a run; written once, however often the run moves.
INSERT INTO run_header (run_id, resumes, input, special, context, lane, routing_key, priority,
                        traceparent, actor, idempotency_hash, batch, member, role, number,
                        terms)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)
