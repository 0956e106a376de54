-- An instance's runs whose stored moment has come, earliest first. The stored moment may be early, never
-- late.
SELECT id FROM run WHERE owner = $1 AND wake_at <= $2 ORDER BY wake_at, id LIMIT $3
