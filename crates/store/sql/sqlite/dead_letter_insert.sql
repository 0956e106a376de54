-- Gives work of a run up. Tenant and workflow are copied, so that lists need no join.
INSERT INTO dead_letter (run_id, tenant, workflow, reason, step, error_code, error_message, at)
SELECT id, tenant, workflow, ?2, ?3, ?4, ?5, ?6 FROM run WHERE id = ?1
