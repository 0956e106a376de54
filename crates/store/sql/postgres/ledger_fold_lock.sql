-- One instance at a time folds; whoever comes meanwhile has nothing to do. Asked before the statement that
-- folds, which then sees all that the one before has folded.
SELECT pg_try_advisory_xact_lock(hashtext(current_schema() || '.credit_movement'), 0)
