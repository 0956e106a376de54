-- Figures for metrics and health. Open runs are summed over tenants, never counted.
SELECT (SELECT coalesce(sum(open + compensations), 0)::bigint FROM tenant_load),
       (SELECT count(*) FROM outbox)
