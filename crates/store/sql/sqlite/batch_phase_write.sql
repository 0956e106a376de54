-- One phase as it was decided. One that is there already keeps its counters.
INSERT INTO batch_phase (id, batch, name, version, gate, offset_minutes, steps, due_at, status,
                         dispatched_at, completed_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
    ON CONFLICT (id) DO UPDATE
   SET due_at        = excluded.due_at,
       status        = excluded.status,
       dispatched_at = excluded.dispatched_at,
       completed_at  = excluded.completed_at
 WHERE status        <> excluded.status
    OR due_at        IS NOT excluded.due_at
    OR dispatched_at IS NOT excluded.dispatched_at
    OR completed_at  IS NOT excluded.completed_at
