-- Which of these keys a runbook has seen before.
SELECT key FROM seen_key WHERE runbook = $1 AND key = ANY($2) ORDER BY key
