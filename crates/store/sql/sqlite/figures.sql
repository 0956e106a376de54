-- Figures for metrics and health. Open runs are summed over tenants, never counted.
SELECT (SELECT coalesce(sum(open + compensations), 0) FROM tenant_load),
       (SELECT count(*) FROM dead_letter INDEXED BY dead_letter_open WHERE settled = 0),
       (SELECT count(*) FROM outbox)
