SELECT key FROM seen_key WHERE runbook = ?1
