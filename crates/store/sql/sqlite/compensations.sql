-- Runs that undo steps of a run, oldest first.
SELECT id FROM run INDEXED BY run_by_parent WHERE parent_run = ?1 ORDER BY id
