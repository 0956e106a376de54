-- Whoever adds to the history waits for whoever did so just before, until that is committed: so numbers
-- are given in the order in which they can be read.
SELECT pg_advisory_xact_lock(hashtext(current_schema() || '.batch_history'), 0)
