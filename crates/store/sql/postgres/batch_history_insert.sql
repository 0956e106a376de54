-- Appends decisions to the histories of batches, in the order of the items.
INSERT INTO batch_history (batch, version, at, entries)
SELECT new.batch, new.version, new.at, new.entries
  FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[])
       WITH ORDINALITY AS new (batch, version, at, entries, place)
 ORDER BY place
