-- A member joins. Zero rows mean that its number or its key is there already.
INSERT INTO batch_member (id, batch, key, data_hash, run_id, added_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6)
    ON CONFLICT DO NOTHING
