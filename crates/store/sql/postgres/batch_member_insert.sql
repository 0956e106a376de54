-- Members join.
INSERT INTO batch_member (id, batch, key, data_hash, run_id, added_at)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bytea[], $5::uuid[], $6::bigint[])
