DELETE FROM seen_key WHERE runbook = ?1 AND key = ?2
