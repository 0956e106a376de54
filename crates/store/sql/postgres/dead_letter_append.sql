-- Gives work up that no decision moved, in order. Tenant, dialect and workflow are copied, so that lists
-- need no join.
INSERT INTO dead_letter (run_id, message, tenant, dialect, workflow, reason, step, error_code,
                         error_message, first_error_code, first_error_message, at)
SELECT run_id, message, tenant, dialect, workflow, reason, step, error_code, error_message,
       first_error_code, first_error_message, at
  FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
              $8::text[], $9::text[], $10::text[], $11::text[], $12::bigint[])
       WITH ORDINALITY AS new (run_id, message, tenant, dialect, workflow, reason, step, error_code,
                               error_message, first_error_code, first_error_message, at, place)
 ORDER BY place
