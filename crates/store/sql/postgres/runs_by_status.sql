-- A page of runs in one status, newest first.
--
-- One statement for what SQLite does with three: it is planned with the values of the question, so
-- what does not restrict falls away, and the rest chooses the index that already has the order.
SELECT id, tenant, dialect, workflow, workflow_version, compensation, parent_run, parent_step, version,
       status, paused, attempt, current_step, correlation_id, error_code, error_message, created_at,
       updated_at, started_at, ended_at, credits_reserved, credits_spent
  FROM run
 WHERE status = $2
   AND ($1 IS NULL OR tenant = $1)
   AND ($3 IS NULL OR workflow = $3)
   AND ($4 IS NULL OR correlation_id = $4)
   AND id < $9
   AND ($5 IS NULL OR dialect = $5)
   AND ($6 IS NULL OR created_at >= $6)
   AND ($7 IS NULL OR created_at < $7)
   AND ($8 OR parent_run IS NULL)
 ORDER BY id DESC
 LIMIT $10
