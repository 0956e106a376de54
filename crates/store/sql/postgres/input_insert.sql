-- Stores something for runs that another instance owns. The same input again changes nothing.
INSERT INTO input (id, run_id, from_epoch, at, body)
SELECT new.id, new.run_id, new.from_epoch, new.at, new.body
  FROM unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::bigint[], $5::text[])
       WITH ORDINALITY AS new (id, run_id, from_epoch, at, body, place)
  JOIN run ON run.id = new.run_id
 ORDER BY place
    ON CONFLICT (id) DO NOTHING
