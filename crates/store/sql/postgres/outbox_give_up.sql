-- Takes messages out that are given up, and says whose they were. One that is gone already is passed over.
WITH gone AS (
    DELETE FROM outbox WHERE id = ANY($1) RETURNING id, run_id, tenant, dialect, body
)
SELECT gone.id, gone.run_id, coalesce(run.tenant, gone.tenant), coalesce(run.dialect, gone.dialect),
       coalesce(run.workflow, ''), gone.body
  FROM gone
  LEFT JOIN run ON run.id = gone.run_id
