-- Takes over open runs whose owner does not live, oldest first; nobody is such an owner too. What
-- somebody else is taking just now is passed over. Goes on in `run_moved`.
--
-- A run that has ended stays where it was, unless an input waits for it that somebody must answer.
WITH orphan AS (
    SELECT found.id, found.owner
      FROM instance AS gone
     CROSS JOIN LATERAL (SELECT run.id, run.owner
                           FROM run
                          -- As a range, so that only the index by owner has the order: there may
                          -- be millions of older runs that belong to the living.
                          WHERE run.owner >= gone.epoch AND run.owner <= gone.epoch
                            AND run.ended_at IS NULL
                          ORDER BY run.owner, run.id
                          LIMIT $2
                            FOR NO KEY UPDATE SKIP LOCKED) AS found
     WHERE gone.state <> 'alive'
     ORDER BY found.id
     LIMIT $2
), asked AS (
    SELECT DISTINCT found.id, found.owner
      FROM input
           -- OFFSET keeps it a question of its own, asked input by input.
     CROSS JOIN LATERAL (SELECT run.id, run.owner
                           FROM run
                          WHERE run.id = input.run_id AND run.ended_at IS NOT NULL
                         OFFSET 0) AS found
      JOIN instance AS gone ON gone.epoch = found.owner AND gone.state <> 'alive'
), moved AS (
    UPDATE run
       SET owner = $1
      FROM (SELECT id, owner FROM orphan UNION ALL SELECT id, owner FROM asked) AS orphan
     WHERE run.id = orphan.id AND run.owner = orphan.owner
    RETURNING run.id, run.tenant, run.parent_run IS NOT NULL AS is_compensation,
              run.ended_at IS NOT NULL AS has_ended, orphan.owner AS before
)
