-- Another run becomes the member's newest.
UPDATE batch_member SET run_id = ?3 WHERE id = ?1 AND batch = ?2
