-- Gives messages up, as dead letters of their runs. One that is gone already is passed over.
WITH gone AS (
    DELETE FROM outbox
     USING unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[])
           WITH ORDINALITY AS new (id, reason, step, error_code, error_message, at, place)
     WHERE outbox.id = new.id
    RETURNING outbox.run_id, new.reason, new.step, new.error_code, new.error_message, new.at, new.place
)
INSERT INTO dead_letter (run_id, tenant, dialect, workflow, reason, step, error_code, error_message, at)
SELECT run.id, run.tenant, run.dialect, run.workflow, gone.reason, gone.step, gone.error_code,
       gone.error_message, gone.at
  FROM gone
  JOIN run ON run.id = gone.run_id
 ORDER BY gone.place
