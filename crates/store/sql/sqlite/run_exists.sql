-- Whether there is such a run.
SELECT 1 FROM run WHERE id = ?1
