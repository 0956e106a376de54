-- The source has changed the member's data.
UPDATE batch_member SET data_hash = ?3 WHERE id = ?1 AND batch = ?2
