-- Every version of a runbook, newest first.
SELECT id, name, version, source, is_active, overdue, overdue_applied, rerun_init, created_at, created_by,
       last_error, last_error_at
  FROM runbook
 WHERE name = $1
 ORDER BY version DESC
