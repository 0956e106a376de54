-- Counts of instances that are forgotten: they add up to nothing.
DELETE FROM tenant_load
 WHERE NOT EXISTS (SELECT FROM instance WHERE instance.epoch = tenant_load.epoch)
