INSERT INTO step_spec (workflow, workflow_version, position, step, gate, gate_position, kind, pool,
                       on_failure, poll_interval_s, poll_timeout_s, retries_max, retry_interval_s)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
