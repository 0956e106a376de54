-- Stores a new version of a workflow.
INSERT INTO workflow (name, version, request_type, source, created_at, created_by)
VALUES ($1, $2, $3, $4, $5, $6)
