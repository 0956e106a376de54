-- Notes that what the leaving of these members asks for was begun; the first time counts.
UPDATE batch_member
   SET removal_dispatched_at = $2
 WHERE id = ANY($1) AND removed_at IS NOT NULL AND removal_dispatched_at IS NULL
