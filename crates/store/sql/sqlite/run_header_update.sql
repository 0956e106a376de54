-- What a run was given has changed at its source.
UPDATE run_header SET input = ?2, special = ?3 WHERE run_id = ?1
