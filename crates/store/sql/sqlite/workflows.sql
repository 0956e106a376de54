-- The newest version of every workflow, by name.
SELECT workflow.name, workflow.version, request_type, source, created_at, created_by
  FROM (SELECT name, max(version) AS version FROM workflow GROUP BY name) AS newest
  JOIN workflow ON workflow.name = newest.name AND workflow.version = newest.version
 ORDER BY workflow.name
