-- Gives up an order that never became a run.
INSERT INTO dead_letter (message, tenant, workflow, reason, step, error_code, error_message, at)
VALUES (?1, ?2, ?3, ?4, NULL, ?5, ?6, ?7)
