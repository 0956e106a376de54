-- Appends to the log of events.
INSERT INTO event (tenant, dialect, run_id, kind, body, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
