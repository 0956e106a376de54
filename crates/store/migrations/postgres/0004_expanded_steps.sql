-- Steps that are done once for each item of a list. The items stand behind the steps of their workflow,
-- in the same table; where they begin is told by the row of their step, which is called expanded.

-- The first is the name that the server gave to the rule of 0001.
ALTER TABLE step DROP CONSTRAINT IF EXISTS step_check;
ALTER TABLE step DROP CONSTRAINT IF EXISTS step_status_rule;

-- NOT VALID spares a walk through the table: whatever is in it obeyed the narrower rule.
ALTER TABLE step ADD CONSTRAINT step_status_rule
    CHECK (CASE status
               WHEN 'dispatched' THEN lease_id IS NOT NULL AND ended_at IS NULL
               WHEN 'succeeded'  THEN lease_id IS NULL     AND ended_at IS NOT NULL
               WHEN 'acked'      THEN lease_id IS NOT NULL AND ended_at IS NULL
               WHEN 'polling'    THEN ended_at IS NULL
               WHEN 'retry_wait' THEN lease_id IS NULL     AND ended_at IS NULL
               WHEN 'waiting'    THEN lease_id IS NULL     AND ended_at IS NULL
               WHEN 'ready'      THEN lease_id IS NULL     AND ended_at IS NULL
               WHEN 'expanded'   THEN lease_id IS NULL     AND ended_at IS NULL
               WHEN 'failed'     THEN lease_id IS NULL     AND ended_at IS NOT NULL
               WHEN 'timed_out'  THEN lease_id IS NULL     AND ended_at IS NOT NULL
               WHEN 'cancelled'  THEN lease_id IS NULL     AND ended_at IS NOT NULL
               WHEN 'skipped'    THEN lease_id IS NULL     AND ended_at IS NOT NULL
               ELSE FALSE
           END) NOT VALID;

-- A node to which nothing has happened yet has no row here: it is pending.
CREATE OR REPLACE VIEW dag_node_states AS
SELECT step.run_id                                AS job_id,
       coalesce(step.node, step.position::text)   AS node_id,
       CASE step.status
           WHEN 'waiting'    THEN 'pending'
           WHEN 'retry_wait' THEN 'ready'
           WHEN 'expanded'   THEN 'running'
           WHEN 'acked'      THEN 'running'
           WHEN 'polling'    THEN 'running'
           WHEN 'succeeded'  THEN 'completed'
           WHEN 'timed_out'  THEN 'failed'
           ELSE step.status
       END                                        AS status,
       step.attempt                               AS attempt,
       to_timestamp(step.dispatched_at / 1000.0)  AS dispatched_at,
       to_timestamp(step.ended_at / 1000.0)       AS completed_at,
       step.error_message                         AS error_message
  FROM step
  JOIN run ON run.id = step.run_id
 WHERE run.dialect = 'platform' AND run.parent_run IS NULL;
