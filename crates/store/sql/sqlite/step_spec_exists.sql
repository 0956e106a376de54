SELECT 1 FROM step_spec WHERE workflow = ?1 AND workflow_version = ?2 LIMIT 1
