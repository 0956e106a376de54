-- Deletes the lines of a stretch, but for the newest, which stands for all of them.
DELETE FROM credit_movement INDEXED BY credit_movement_by_tenant
 WHERE tenant = ?1 AND id >= ?2 AND id < ?3
