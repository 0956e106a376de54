-- Runs whose stored moment has come, earliest first. The stored moment may be early, never late.
SELECT id FROM run INDEXED BY run_by_wake WHERE wake_at <= ?1 ORDER BY wake_at, id LIMIT ?2
