-- Leaves stubs of runs that are about to be deleted: that they were, and how they ended. A batch knows
-- its runs by their stubs, so those last.
INSERT INTO stub (run_id, tenant, workflow, status, ended_at, deleted_at, lasting)
SELECT run.id, run.tenant, run.workflow, run.status, run.ended_at, $2, header.batch IS NOT NULL
  FROM run
  JOIN run_header AS header ON header.run_id = run.id
 WHERE run.id = ANY($1)
