-- Takes whatever version of a runbook is active out of use.
UPDATE runbook SET is_active = FALSE WHERE name = $1 AND is_active
