-- All addresses that are told of events, oldest first.
SELECT id, tenant, dialects, kinds, url, description, enabled, actor, created_at
  FROM subscription
 ORDER BY created_at, id
