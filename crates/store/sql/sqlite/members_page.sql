-- A part of the members of a batch, by number. Those passed over are counted in the index alone.
SELECT id
  FROM batch_member INDEXED BY batch_member_by_batch
 WHERE batch = ?1 AND id > ?2
 ORDER BY id
 LIMIT ?3 OFFSET ?4
