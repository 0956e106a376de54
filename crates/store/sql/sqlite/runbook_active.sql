SELECT id, name, version, source, is_active, overdue, overdue_applied, rerun_init, created_at,
       created_by, last_error, last_error_at
  FROM runbook INDEXED BY runbook_active
 WHERE name = ?1 AND is_active = 1
