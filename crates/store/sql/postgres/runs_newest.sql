-- A page of runs in any status, newest first: the order of the primary key itself, or the few of one
-- correlation id.
SELECT id, tenant, dialect, workflow, workflow_version, compensation, parent_run, parent_step, version,
       status, paused, attempt, current_step, correlation_id, error_code, error_message, created_at,
       updated_at, started_at, ended_at, credits_reserved, credits_spent
  FROM run
 WHERE ($1 IS NULL OR tenant = $1)
   AND ($2 IS NULL OR status = $2)
   AND ($3 IS NULL OR workflow = $3)
   AND ($4 IS NULL OR correlation_id = $4)
   AND id < $9
   AND ($5 IS NULL OR dialect = $5)
   AND ($6 IS NULL OR created_at >= $6)
   AND ($7 IS NULL OR created_at < $7)
   AND ($8 OR parent_run IS NULL)
 ORDER BY id DESC
 LIMIT $10
