-- Notes firings. What was noted of the same firing before is replaced, unless it has made a
-- run: whoever comes late with another word about it does not know.
INSERT INTO firing (tenant, trigger, key, scheduled_for, at, run_id, outcome, reason)
SELECT *
  FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::uuid[], $7::text[],
              $8::text[])
    ON CONFLICT (tenant, trigger, key) DO UPDATE
   SET scheduled_for = excluded.scheduled_for,
       at            = excluded.at,
       run_id        = excluded.run_id,
       outcome       = excluded.outcome,
       reason        = excluded.reason
 WHERE firing.outcome <> 'started'
