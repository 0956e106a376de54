-- All addresses that are told of events.
SELECT id, tenant, dialects, kinds, url, description, enabled, actor, created_at FROM subscription
