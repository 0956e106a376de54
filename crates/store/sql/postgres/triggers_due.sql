-- Enabled triggers whose next moment has come, earliest first.
SELECT tenant, name, kind, workflow, document, enabled, version, next_at, fired_until, last_error, actor,
       created_at, updated_at
  FROM trigger
 WHERE enabled AND next_at <= $1
 ORDER BY next_at, tenant, name
 LIMIT $2
