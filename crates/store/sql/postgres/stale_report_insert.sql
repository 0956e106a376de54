-- Keeps reports that changed nothing, for audit, while there is room; a worker that repeats itself for
-- ever must not fill the disk. Two instances at once may keep one more than the limit.
INSERT INTO stale_report (run_id, step, kind, attempt, lease, reason, at)
SELECT new.run_id, new.step, new.kind, new.attempt, new.lease, new.reason, new.at
  FROM (SELECT numbered.*, row_number() OVER (PARTITION BY numbered.run_id ORDER BY place) AS number
          FROM unnest($1::uuid[], $2::text[], $3::text[], $4::bigint[], $5::uuid[], $6::text[],
                      $7::bigint[])
               WITH ORDINALITY
               AS numbered (run_id, step, kind, attempt, lease, reason, at, place)) AS new
  JOIN run ON run.id = new.run_id
 WHERE (SELECT count(*) FROM stale_report WHERE stale_report.run_id = new.run_id) + number <= $8
 ORDER BY place
