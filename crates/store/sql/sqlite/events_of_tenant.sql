-- The events of a tenant after a place, oldest first. Whoever asks stops when it has enough.
SELECT id, tenant, dialect, run_id, kind, body, at
  FROM event INDEXED BY event_by_tenant
 WHERE tenant = ?2 AND id > ?1
 ORDER BY id
