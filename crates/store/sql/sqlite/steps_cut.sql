-- Steps that the workflow of a run no longer has.
DELETE FROM step WHERE run_id = ?1 AND position >= ?2
