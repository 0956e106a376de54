-- What the leaving of a member asks for was begun.
UPDATE batch_member
   SET removal_dispatched_at = ?2
 WHERE id = ?1 AND removed_at IS NOT NULL AND removal_dispatched_at IS NULL
