-- Takes one version out of use.
UPDATE runbook SET is_active = FALSE WHERE name = $1 AND version = $2
