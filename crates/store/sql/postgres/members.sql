-- A part of the members of a batch, by number. What became of each is looked up for that part alone, not
-- for the members that are passed over.
SELECT member.id, member.batch, member.key, member.data_hash, member.run_id,
       -- Retention leaves a stub of a run, which says how it ended.
       coalesce(run.status, (SELECT stub.status FROM stub WHERE stub.run_id = member.run_id)),
       run.current_step, member.added_at,
       coalesce(run.ended_at, (SELECT stub.ended_at FROM stub
                                WHERE stub.run_id = member.run_id AND run.id IS NULL)),
       member.removed_at, member.removed_by, member.removal_dispatched_at
  FROM (SELECT *
          FROM batch_member
         WHERE batch = $1
           AND id > $2
           AND ($3 IS NULL OR id = ANY($3))
           AND (NOT $4 OR (removed_at IS NOT NULL AND removal_dispatched_at IS NULL))
         ORDER BY id
        OFFSET $5
         LIMIT $6) AS member
  LEFT JOIN run ON run.id = member.run_id
 ORDER BY member.id
