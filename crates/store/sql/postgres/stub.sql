-- What became of a run that retention has deleted.
SELECT run_id, tenant, workflow, status, ended_at, deleted_at FROM stub WHERE run_id = $1
