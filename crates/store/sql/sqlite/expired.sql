-- Ended runs whose time has come, longest overdue first.
SELECT id FROM run INDEXED BY run_by_expiry WHERE expires_at <= ?1 ORDER BY expires_at, id LIMIT ?2
