INSERT INTO seen_key (runbook, key) VALUES (?1, ?2) ON CONFLICT DO NOTHING
