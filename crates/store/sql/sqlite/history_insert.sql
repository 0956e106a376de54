-- Appends one decision to the history of its run.
INSERT INTO history (run_id, version, at, entries) VALUES (?1, ?2, ?3, ?4)
