-- One run as it stands in a list.
SELECT id, tenant, dialect, workflow, workflow_version, compensation, parent_run, parent_step, version,
       status, paused, attempt, current_step, correlation_id, error_code, error_message, created_at,
       updated_at, started_at, ended_at, credits_reserved, credits_spent
  FROM run
 WHERE id = ?1
