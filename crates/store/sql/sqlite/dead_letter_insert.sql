-- Gives work up. Tenant, dialect and workflow are copied, so that lists need no join.
INSERT INTO dead_letter (run_id, message, tenant, dialect, workflow, reason, step, error_code,
                         error_message, first_error_code, first_error_message, at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
