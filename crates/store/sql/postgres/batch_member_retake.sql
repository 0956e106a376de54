-- Members go on with other runs than before.
UPDATE batch_member
   SET run_id = new.run_id
  FROM unnest($1::bigint[], $2::bigint[], $3::uuid[]) AS new (batch, id, run_id)
 WHERE batch_member.id = new.id AND batch_member.batch = new.batch
