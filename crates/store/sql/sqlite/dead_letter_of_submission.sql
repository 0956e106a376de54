-- Gives up an order that never became a run.
INSERT INTO dead_letter (message, tenant, dialect, workflow, reason, step, error_code, error_message, at)
VALUES (?1, ?2, ?8, ?3, ?4, NULL, ?5, ?6, ?7)
