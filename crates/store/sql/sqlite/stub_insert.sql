-- Leaves a stub of a run that is about to be deleted: that it was, and how it ended.
INSERT INTO stub (run_id, tenant, workflow, status, ended_at, deleted_at)
SELECT id, tenant, workflow, status, ended_at, ?2 FROM run WHERE id = ?1
