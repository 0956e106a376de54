-- Notes that what was past due was passed over in every batch under way.
UPDATE runbook SET overdue_applied = TRUE WHERE id = $1
