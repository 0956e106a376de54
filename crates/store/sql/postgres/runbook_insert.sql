-- The next version of a runbook, active from here on. Nobody else publishes under its name meanwhile.
INSERT INTO runbook (name, version, source, is_active, overdue, rerun_init, created_at, created_by)
SELECT $1, coalesce(max(version), 0) + 1, $2, TRUE, $3, $4, $5, $6 FROM runbook WHERE name = $1
RETURNING id, name, version, source, is_active, overdue, overdue_applied, rerun_init, created_at,
          created_by, last_error, last_error_at
