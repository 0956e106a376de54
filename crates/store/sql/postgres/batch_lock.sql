-- Keeps others from deciding or counting in some batches until the transaction ends, and says where they
-- stand. In order, as everybody locks them who counts: two who want the same never wait for each other.
SELECT id, version FROM batch WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE
