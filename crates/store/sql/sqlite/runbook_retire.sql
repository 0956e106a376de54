-- No version of a runbook is active until the next is stored, in the same transaction.
UPDATE runbook SET is_active = 0 WHERE name = ?1 AND is_active = 1
