-- Leaves stubs of runs that are about to be deleted: that they were, and how they ended.
INSERT INTO stub (run_id, tenant, workflow, status, ended_at, deleted_at)
SELECT id, tenant, workflow, status, ended_at, $2 FROM run WHERE id = ANY($1)
