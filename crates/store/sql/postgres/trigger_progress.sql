-- Writes what became of triggers, and answers which were still at the version that was read. Rows are
-- locked in one order, so that two instances never wait for each other.
WITH new AS (
    SELECT *
      FROM unnest($1::text[], $2::text[], $3::integer[], $4::bigint[], $5::bigint[], $6::text[])
           WITH ORDINALITY AS new (tenant, name, version, next_at, fired_until, last_error, place)
), current AS (
    SELECT trigger.tenant, trigger.name
      FROM trigger
     WHERE (trigger.tenant, trigger.name, trigger.version)
           IN (SELECT new.tenant, new.name, new.version FROM new)
     ORDER BY trigger.tenant, trigger.name
       FOR UPDATE
)
UPDATE trigger
   SET next_at     = new.next_at,
       fired_until = new.fired_until,
       last_error  = new.last_error
  FROM new
  JOIN current ON current.tenant = new.tenant AND current.name = new.name
 WHERE trigger.tenant  = new.tenant
   AND trigger.name    = new.name
   AND trigger.version = new.version
RETURNING new.place
