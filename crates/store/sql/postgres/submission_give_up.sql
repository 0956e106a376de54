-- Takes orders out that never become a run, with what they said. One whose delivery is no longer current is
-- left alone.
DELETE FROM submission
 USING unnest($1::bigint[], $2::integer[]) AS new (id, deliveries)
 WHERE submission.id = new.id AND submission.deliveries = new.deliveries
RETURNING submission.id, submission.workflow, submission.body
