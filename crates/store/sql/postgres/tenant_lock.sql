-- Keeps others from filling the same tenants until the transaction ends. In order, so that two who
-- want the same tenants never wait for each other.
SELECT pg_advisory_xact_lock(hashtext(current_schema() || '.tenant'), wanted.hash)
  FROM (SELECT DISTINCT hashtext(tenant) AS hash FROM unnest($1::text[]) AS tenant ORDER BY 1) AS wanted
