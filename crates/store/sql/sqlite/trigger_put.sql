-- Stores a trigger, new or changed. Zero rows: it is not at the version before, or exists already.
INSERT INTO trigger (tenant, name, kind, workflow, document, enabled, version, next_at, fired_until,
                     last_error, actor, created_at, updated_at)
SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13
 WHERE ?7 = 1 OR EXISTS (SELECT 1 FROM trigger WHERE tenant = ?1 AND name = ?2)
    ON CONFLICT (tenant, name) DO UPDATE
   SET kind        = excluded.kind,
       workflow    = excluded.workflow,
       document    = excluded.document,
       enabled     = excluded.enabled,
       version     = excluded.version,
       next_at     = excluded.next_at,
       fired_until = excluded.fired_until,
       last_error  = excluded.last_error,
       actor       = excluded.actor,
       created_at  = excluded.created_at,
       updated_at  = excluded.updated_at
 WHERE trigger.version = excluded.version - 1
