-- Forgets keys of a runbook that its source does not have any more.
DELETE FROM seen_key WHERE runbook = $1 AND key <> ALL($2)
