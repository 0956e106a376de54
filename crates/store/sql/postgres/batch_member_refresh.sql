-- The source has changed the data of members.
UPDATE batch_member
   SET data_hash = new.data_hash
  FROM unnest($1::bigint[], $2::bigint[], $3::bytea[]) AS new (batch, id, data_hash)
 WHERE batch_member.id = new.id AND batch_member.batch = new.batch
