-- Gives work of the runs up that this transaction has moved. Tenant, dialect and workflow are copied, so
-- that lists need no join.
INSERT INTO dead_letter (run_id, tenant, dialect, workflow, reason, step, error_code, error_message,
                         first_error_code, first_error_message, at)
SELECT run.id, run.tenant, run.dialect, run.workflow, new.reason, new.step, new.error_code,
       new.error_message, new.first_error_code, new.first_error_message, new.at
  FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
              $8::bigint[])
       WITH ORDINALITY AS new (run_id, reason, step, error_code, error_message, first_error_code,
                               first_error_message, at, place)
  JOIN run ON run.id = new.run_id AND run.xmin = pg_current_xact_id()::xid
 ORDER BY new.place
