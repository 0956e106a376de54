-- Creates a run. Zero rows mean that its id exists: this very creation was committed before.
INSERT INTO run (id, tenant, dialect, workflow, workflow_version, compensation, parent_run,
                 parent_step, correlation_id, created_at, step_count, version, status, attempt,
                 paused, cancel, gates_open, outputs, current_step, error_code, error_message,
                 retry_at, wake_at, updated_at, started_at, ended_at, expires_at,
                 credits_reserved, credits_spent)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20,
        ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29)
    ON CONFLICT (id) DO NOTHING
