-- Writes the phases of batches. Those that are there keep their counters; new ones begin with zero. Most
-- stand where they stood, and are left alone.
INSERT INTO batch_phase AS known (id, batch, name, version, gate, offset_minutes, steps, due_at, status,
                                  dispatched_at, completed_at)
SELECT *
  FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::integer[], $5::text[], $6::integer[],
              $7::integer[], $8::bigint[], $9::text[], $10::bigint[], $11::bigint[])
    ON CONFLICT (id) DO UPDATE
   SET due_at        = excluded.due_at,
       status        = excluded.status,
       dispatched_at = excluded.dispatched_at,
       completed_at  = excluded.completed_at
 WHERE (known.due_at, known.status, known.dispatched_at, known.completed_at)
       IS DISTINCT FROM
       (excluded.due_at, excluded.status, excluded.dispatched_at, excluded.completed_at)
