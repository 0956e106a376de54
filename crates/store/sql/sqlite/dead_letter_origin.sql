-- Whose work it is that is given up with a run.
SELECT tenant, dialect, workflow FROM run WHERE id = ?1
