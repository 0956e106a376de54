-- Moves batches from one version to the next. They are locked, and were at the version that was decided
-- from. What never changes is left alone, and so are the counters.
UPDATE batch
   SET version            = new.version,
       status             = new.status,
       paused             = new.paused,
       runbook_version    = new.runbook_version,
       start              = new.start,
       advanced_at        = new.advanced_at,
       init               = new.init,
       init_dispatched_at = new.init_dispatched_at,
       sweeps             = new.sweeps,
       current_phase      = new.current_phase,
       joined             = new.joined,
       removed            = new.removed,
       updated_at         = new.updated_at,
       ended_at           = new.ended_at,
       wake_at            = new.wake_at,
       settled            = new.settled
  FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::boolean[], $5::integer[], $6::bigint[],
              $7::bigint[], $8::text[], $9::bigint[], $10::text[], $11::text[], $12::bigint[],
              $13::bigint[], $14::bigint[], $15::bigint[], $16::bigint[], $17::boolean[])
       AS new (id, version, status, paused, runbook_version, start, advanced_at, init,
               init_dispatched_at, sweeps, current_phase, joined, removed, updated_at, ended_at, wake_at,
               settled)
 WHERE batch.id = new.id
