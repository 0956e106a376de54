-- The newest version of a workflow.
SELECT name, version, request_type, source, created_at, created_by
  FROM workflow
 WHERE name = $1
 ORDER BY version DESC
 LIMIT 1
