-- How many runs of some tenants are open, over all instances.
SELECT wanted.tenant, coalesce(sum(tenant_load.open), 0)::bigint
  FROM unnest($1::text[]) AS wanted (tenant)
  LEFT JOIN tenant_load ON tenant_load.tenant = wanted.tenant
 GROUP BY wanted.tenant
