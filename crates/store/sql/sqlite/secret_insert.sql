-- Stores a secret unless there is one: the first one stays until it is replaced.
INSERT INTO secret (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO NOTHING
