UPDATE runbook SET is_active = 0 WHERE name = ?1 AND version = ?2
