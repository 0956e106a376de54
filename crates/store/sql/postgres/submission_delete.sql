-- Ends deliveries for good. One that is no longer current is left alone.
DELETE FROM submission
 USING unnest($1::bigint[], $2::integer[]) AS done (id, deliveries)
 WHERE submission.id = done.id AND submission.deliveries = done.deliveries
