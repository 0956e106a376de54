-- Notes how the scheduler's last pass ended. A version that is clean and stays so is not written at all.
UPDATE runbook
   SET last_error = $2, last_error_at = $3
 WHERE id = $1 AND ($2::text IS NOT NULL OR last_error IS NOT NULL)
