-- Triggers of one tenant by name, or one of them.
SELECT tenant, name, kind, workflow, document, enabled, version, next_at, fired_until, last_error, actor,
       created_at, updated_at
  FROM trigger
 WHERE tenant = ?1
   AND (?2 IS NULL OR name = ?2)
   AND (?3 IS NULL OR kind = ?3)
   AND (enabled OR NOT ?4)
 ORDER BY name
