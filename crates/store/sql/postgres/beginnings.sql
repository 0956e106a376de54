-- The first records of each run's history, with the place of the run among those asked for.
SELECT asked.place - 1, record.version, record.at, record.entries
  FROM unnest($1::uuid[]) WITH ORDINALITY AS asked (run_id, place)
 CROSS JOIN LATERAL (SELECT history.version, history.at, history.entries
                       FROM history
                      WHERE history.run_id = asked.run_id
                      ORDER BY history.version
                      LIMIT $2) AS record
 ORDER BY asked.place, record.version
