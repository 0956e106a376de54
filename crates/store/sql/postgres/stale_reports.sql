-- Reports on a run that changed nothing, oldest first.
SELECT run_id, step, kind, attempt, lease, reason, at FROM stale_report WHERE run_id = $1 ORDER BY id
