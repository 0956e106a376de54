-- Forgets old firings. Those of files stay, because the files may still lie there; so do those that
-- wait. It is asked trigger by trigger, so that what stays is never walked over.
DELETE FROM firing
 USING (SELECT old.tenant, old.trigger, old.key
          FROM trigger
         CROSS JOIN LATERAL
               (SELECT tenant, trigger, key
                  FROM firing
                 WHERE firing.tenant  = trigger.tenant
                   AND firing.trigger = trigger.name
                   AND firing.at      < $1
                   AND firing.outcome <> 'queued'
                 ORDER BY at
                 LIMIT $2
                   FOR UPDATE SKIP LOCKED) AS old
         WHERE trigger.kind <> 'file_drop'
         LIMIT $2) AS old
 WHERE firing.tenant  = old.tenant
   AND firing.trigger = old.trigger
   AND firing.key     = old.key
