UPDATE runbook SET overdue_applied = 1 WHERE id = ?1
