-- Forgets old stubs, oldest first.
DELETE FROM stub
 WHERE run_id IN (SELECT run_id
                    FROM stub INDEXED BY stub_by_deletion
                   WHERE lasting = 0 AND deleted_at < ?1
                   ORDER BY deleted_at
                   LIMIT ?2)
