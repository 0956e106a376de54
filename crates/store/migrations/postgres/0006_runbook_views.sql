-- Runbooks, batches and members in the shape that the tools of the runbooks dialect know: read them,
-- never write them. All times are UTC.

CREATE OR REPLACE VIEW runbooks AS
SELECT id,
       name,
       version,
       source                                    AS yaml_content,
       -- Nothing reads it, and there never was such a table.
       'runbook_' || regexp_replace(name, '[^A-Za-z0-9]', '_', 'g') || '_v' || version AS data_table_name,
       is_active,
       overdue                                   AS overdue_behavior,
       overdue_applied                           AS ignore_overdue_applied,
       rerun_init,
       to_timestamp(created_at / 1000.0)         AS created_at,
       last_error,
       to_timestamp(last_error_at / 1000.0)      AS last_error_at
  FROM runbook;

CREATE OR REPLACE VIEW batches AS
SELECT batch.id,
       runbook.id                                         AS runbook_id,
       to_timestamp(batch.start / 1000.0)                 AS batch_start_time,
       batch.status,
       to_timestamp(batch.created_at / 1000.0)            AS detected_at,
       to_timestamp(batch.init_dispatched_at / 1000.0)    AS init_dispatched_at,
       batch.mode = 'manual'                              AS is_manual,
       batch.actor                                        AS created_by,
       batch.current_phase
  FROM batch
  LEFT JOIN runbook ON runbook.name = batch.runbook AND runbook.version = batch.runbook_version;

-- Status and data are those of the member's newest run; once retention has deleted that, its stub
-- still says how it ended.
CREATE OR REPLACE VIEW batch_members AS
SELECT member.id,
       member.batch                                          AS batch_id,
       member.key                                            AS member_key,
       coalesce(header.input, '{}')                          AS data_json,
       run.outputs                                           AS worker_data_json,
       CASE
           WHEN member.removed_at IS NOT NULL                   THEN 'removed'
           WHEN coalesce(run.status, stub.status) = 'failed'    THEN 'failed'
           ELSE 'active'
       END                                                   AS status,
       to_timestamp(member.added_at / 1000.0)                AS added_at,
       to_timestamp(member.removed_at / 1000.0)              AS removed_at,
       CASE WHEN coalesce(run.status, stub.status) = 'failed'
            THEN to_timestamp(coalesce(run.ended_at, stub.ended_at) / 1000.0)
       END                                                   AS failed_at,
       -- Its run begins with it.
       to_timestamp(member.added_at / 1000.0)                AS add_dispatched_at,
       to_timestamp(member.removal_dispatched_at / 1000.0)   AS remove_dispatched_at
  FROM batch_member AS member
  LEFT JOIN run ON run.id = member.run_id
  LEFT JOIN run_header AS header ON header.run_id = member.run_id
  LEFT JOIN stub ON stub.run_id = member.run_id;

CREATE OR REPLACE VIEW phase_executions AS
SELECT id,
       batch                                     AS batch_id,
       name                                      AS phase_name,
       offset_minutes,
       to_timestamp(due_at / 1000.0)             AS due_at,
       version                                   AS runbook_version,
       status,
       to_timestamp(dispatched_at / 1000.0)      AS dispatched_at,
       to_timestamp(completed_at / 1000.0)       AS completed_at
  FROM batch_phase;

-- Steps of batches in the words of the dialect: what the next two views share.
--
-- A step to which nothing has happened yet has no row: it is pending. Neither has one whose phase was
-- passed over, since the dialect makes no rows for such a phase.
CREATE OR REPLACE VIEW batch_step AS
SELECT known.number * 65536 + step.position      AS id,
       known.batch,
       known.member,
       known.role,
       run.workflow_version,
       spec.gate,
       spec.gate_position                        AS step_index,
       spec.step                                 AS name,
       spec.pool                                 AS worker_id,
       coalesce(step.kind, spec.kind)            AS function_name,
       step.params                               AS params_json,
       CASE step.status
           WHEN 'waiting'    THEN 'pending'
           WHEN 'ready'      THEN 'pending'
           WHEN 'retry_wait' THEN 'pending'
           WHEN 'expanded'   THEN 'dispatched'
           WHEN 'acked'      THEN 'dispatched'
           WHEN 'timed_out'  THEN 'poll_timeout'
           WHEN 'skipped'    THEN 'cancelled'
           ELSE step.status
       END                                       AS status,
       -- Taken back while a retry waits, as the dialect does it.
       CASE WHEN step.attempt > 0 AND step.status <> 'retry_wait' THEN
           CASE known.role WHEN 'init' THEN 'init-' ELSE 'step-' END
           || known.number * 65536 + step.position
           || CASE step.attempt WHEN 1 THEN '-attempt-1' ELSE '-retry-' || step.attempt - 1 END
           || CASE WHEN poll.count > 0 THEN '-poll-' || poll.count ELSE '' END
       END                                       AS job_id,
       step.result                               AS result_json,
       step.error_message,
       to_timestamp(step.dispatched_at / 1000.0) AS dispatched_at,
       to_timestamp(step.ended_at / 1000.0)      AS completed_at,
       spec.poll_interval_s IS NOT NULL          AS is_poll_step,
       spec.poll_interval_s                      AS poll_interval_sec,
       spec.poll_timeout_s                       AS poll_timeout_sec,
       to_timestamp(poll.started_at / 1000.0)    AS poll_started_at,
       CASE WHEN poll.count = 0 THEN to_timestamp(poll.started_at / 1000.0)
            WHEN poll.count > 0 THEN to_timestamp(step.dispatched_at / 1000.0)
       END                                       AS last_polled_at,
       coalesce(poll.count, 0)                   AS poll_count,
       -- Under the name that the runbook gives it; the kernel's has the version with it.
       regexp_replace(spec.on_failure, '@[0-9]+$', '') AS on_failure,
       -- Counted when it is decided on, not when it begins.
       CASE step.status WHEN 'retry_wait' THEN step.tries ELSE greatest(step.tries - 1, 0) END
                                                 AS retry_count,
       spec.retries_max                          AS max_retries,
       spec.retry_interval_s                     AS retry_interval_sec,
       CASE WHEN step.status = 'retry_wait'
            THEN to_timestamp(step.wake_at / 1000.0)
       END                                       AS retry_after
  FROM batch_run AS known
  JOIN run ON run.id = known.run_id
  JOIN step ON step.run_id = known.run_id
  JOIN step_spec AS spec ON spec.workflow = run.workflow
                        AND spec.workflow_version = run.workflow_version
                        AND spec.position = step.position
 CROSS JOIN LATERAL (SELECT (step.detail::json #>> '{poll,started_at}')::bigint AS started_at,
                            (step.detail::json #>> '{poll,count}')::integer     AS count) AS poll
 WHERE step.detail::json ->> 'skip' IS DISTINCT FROM 'superseded';

CREATE OR REPLACE VIEW step_executions AS
SELECT step.id,
       phase.id                                  AS phase_execution_id,
       step.member                               AS batch_member_id,
       -- A step is called after its phase, too, because names need not differ between phases.
       CASE WHEN starts_with(step.name, step.gate || '/') THEN substr(step.name, length(step.gate) + 2)
            ELSE step.name
       END                                       AS step_name,
       step.step_index,
       step.worker_id,
       step.function_name,
       step.params_json,
       step.status,
       step.job_id,
       step.result_json,
       step.error_message,
       step.dispatched_at,
       step.completed_at,
       step.is_poll_step,
       step.poll_interval_sec,
       step.poll_timeout_sec,
       step.poll_started_at,
       step.last_polled_at,
       step.poll_count,
       step.on_failure,
       step.retry_count,
       step.max_retries,
       step.retry_interval_sec,
       step.retry_after
  FROM batch_step AS step
  JOIN batch_phase AS phase ON phase.batch = step.batch AND phase.gate = step.gate
 WHERE step.role = 'member';

CREATE OR REPLACE VIEW init_executions AS
SELECT id,
       batch                                     AS batch_id,
       workflow_version                          AS runbook_version,
       name                                      AS step_name,
       step_index,
       worker_id,
       function_name,
       params_json,
       status,
       job_id,
       result_json,
       error_message,
       dispatched_at,
       completed_at,
       is_poll_step,
       poll_interval_sec,
       poll_timeout_sec,
       poll_started_at,
       last_polled_at,
       poll_count,
       on_failure,
       retry_count,
       max_retries,
       retry_interval_sec,
       retry_after
  FROM batch_step
 WHERE role = 'init';

CREATE OR REPLACE VIEW runbook_automation_settings AS
SELECT runbook                                   AS runbook_name,
       enabled                                   AS automation_enabled,
       to_timestamp(enabled_at / 1000.0)         AS enabled_at,
       enabled_by,
       to_timestamp(disabled_at / 1000.0)        AS disabled_at,
       disabled_by
  FROM automation;
