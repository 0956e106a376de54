-- Gives up orders that never became a run. One whose delivery is no longer current is left alone.
WITH gone AS (
    DELETE FROM submission
     USING unnest($1::bigint[], $2::integer[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[])
           WITH ORDINALITY AS new (id, deliveries, reason, step, error_code, error_message, at, place)
     WHERE submission.id = new.id AND submission.deliveries = new.deliveries
    RETURNING submission.body, submission.workflow, new.reason, new.step, new.error_code,
              new.error_message, new.at, new.place
)
INSERT INTO dead_letter (message, tenant, dialect, workflow, reason, step, error_code, error_message, at)
SELECT body, $8, $9, workflow, reason, step, error_code, error_message, at FROM gone ORDER BY place
