-- The jobs of the platform dialect in the shape that its tools know: read them, never write them.

CREATE OR REPLACE VIEW dag_jobs AS
SELECT run.id                                    AS job_id,
       run.workflow                              AS workflow_id,
       CASE run.status
           WHEN 'created'    THEN 'pending'
           WHEN 'ready'      THEN 'pending'
           WHEN 'running'    THEN 'running'
           WHEN 'retry_wait' THEN 'running'
           WHEN 'cancelling' THEN 'running'
           WHEN 'succeeded'  THEN 'completed'
           ELSE run.status
       END                                       AS status,
       coalesce(header.input, '{}')::json        AS input_params,
       owner.id::varchar(64)                     AS owner_id,
       -- One heartbeat row an instance, not one a job. A job that has ended is not touched any more.
       least(owner.heartbeat_at, to_timestamp(run.ended_at / 1000.0)) AS owner_heartbeat_at,
       to_timestamp(run.created_at / 1000.0)     AS created_at,
       header.actor                              AS submitted_by,
       run.correlation_id                        AS correlation_id,
       run.version                               AS version
  FROM run
  JOIN run_header AS header ON header.run_id = run.id
  LEFT JOIN instance AS owner ON owner.epoch = run.owner AND owner.epoch <> 0
 WHERE run.dialect = 'platform' AND run.parent_run IS NULL;

-- A node to which nothing has happened yet has no row here: it is pending.
CREATE OR REPLACE VIEW dag_node_states AS
SELECT step.run_id                                AS job_id,
       coalesce(step.node, step.position::text)   AS node_id,
       CASE step.status
           WHEN 'waiting'    THEN 'pending'
           WHEN 'retry_wait' THEN 'ready'
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

CREATE OR REPLACE VIEW dag_task_results AS
SELECT step.run_id                                AS job_id,
       coalesce(step.node, step.position::text)   AS node_id,
       step.attempt                               AS attempt,
       step.status = 'succeeded'                  AS success,
       step.result::json                          AS result,
       step.error_code                            AS error_code,
       step.error_message                         AS error_message,
       to_timestamp(step.ended_at / 1000.0)       AS completed_at
  FROM step
  JOIN run ON run.id = step.run_id
 WHERE run.dialect = 'platform' AND run.parent_run IS NULL
   AND (step.result IS NOT NULL OR step.error_code IS NOT NULL);
