-- Gives orders back to rest.
UPDATE submission
   SET locked_until = given.until
  FROM unnest($1::bigint[], $2::integer[], $3::bigint[]) AS given (id, deliveries, until)
 WHERE submission.id = given.id AND submission.deliveries = given.deliveries
