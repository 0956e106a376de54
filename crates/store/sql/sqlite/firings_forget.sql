-- Forgets old firings. Those of files stay, because the files may still lie there; so do those that
-- wait. It is asked trigger by trigger, so that what stays is never walked over.
DELETE FROM firing
 WHERE (tenant, trigger, key) IN
       (SELECT old.tenant, old.trigger, old.key
          FROM trigger
         CROSS JOIN firing AS old INDEXED BY firing_by_moment
            ON old.tenant = trigger.tenant AND old.trigger = trigger.name
         WHERE trigger.kind <> 'file_drop' AND old.at < ?1 AND old.outcome <> 'queued'
         LIMIT ?2)
