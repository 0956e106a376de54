-- The newest version of the workflow that last claimed a request type.
SELECT name, version, request_type, source, created_at, created_by
  FROM workflow
 WHERE name = (SELECT name FROM workflow WHERE request_type = $1 ORDER BY id DESC LIMIT 1)
 ORDER BY version DESC
 LIMIT 1
