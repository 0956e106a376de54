UPDATE runbook SET last_error = ?2, last_error_at = ?3 WHERE id = ?1
