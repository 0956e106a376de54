-- Stores an address that is told of events, new or changed.
INSERT INTO subscription (id, tenant, dialects, kinds, url, description, enabled, actor, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
    ON CONFLICT (id) DO UPDATE
   SET tenant      = excluded.tenant,
       dialects    = excluded.dialects,
       kinds       = excluded.kinds,
       url         = excluded.url,
       description = excluded.description,
       enabled     = excluded.enabled,
       actor       = excluded.actor,
       created_at  = excluded.created_at
