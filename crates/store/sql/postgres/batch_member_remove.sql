-- Members leave. Those who left before are not touched. Whether they did is compared in a way that no index
-- has: the way to a member is its number.
UPDATE batch_member
   SET removed_at = gone.at,
       removed_by = gone.actor
  FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[]) AS gone (batch, id, at, actor)
 WHERE batch_member.id    = gone.id
   AND batch_member.batch = gone.batch
   AND coalesce(batch_member.removed_at, -1) = -1
