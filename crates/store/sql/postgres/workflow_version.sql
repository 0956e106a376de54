-- One version of a workflow.
SELECT name, version, request_type, source, created_at, created_by
  FROM workflow
 WHERE name = $1 AND version = $2
