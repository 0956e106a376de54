-- One version of a runbook.
SELECT id, name, version, source, is_active, overdue, overdue_applied, rerun_init, created_at, created_by,
       last_error, last_error_at
  FROM runbook
 WHERE name = $1 AND version = $2
