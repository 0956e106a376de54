-- Forgets old stubs, oldest first; what another instance is forgetting is passed over.
DELETE FROM stub
 WHERE run_id = ANY(ARRAY(SELECT run_id
                            FROM stub
                           WHERE NOT lasting AND deleted_at < $1
                           ORDER BY deleted_at
                           LIMIT $2
                             FOR UPDATE SKIP LOCKED))
