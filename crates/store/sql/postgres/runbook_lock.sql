-- Keeps others from publishing under the same name until the transaction ends.
SELECT pg_advisory_xact_lock(hashtext(current_schema() || '.runbook'), hashtext($1))
