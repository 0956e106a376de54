-- The newest version of every workflow, by name.
SELECT DISTINCT ON (name) name, version, request_type, source, created_at, created_by
  FROM workflow
 ORDER BY name, version DESC
