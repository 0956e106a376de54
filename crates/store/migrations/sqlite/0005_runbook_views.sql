-- Runbooks, batches and members in the shape that the tools of the runbooks dialect know: read them,
-- never write them. All times are UTC.

CREATE VIEW runbooks AS
SELECT runbook.id,
       runbook.name,
       runbook.version,
       runbook.source                                                       AS yaml_content,
       -- Nothing reads it, and there never was such a table.
       'runbook_' || (WITH RECURSIVE letter (place) AS (
                          SELECT 1
                           UNION ALL
                          SELECT place + 1 FROM letter WHERE place < length(runbook.name)
                      )
                      SELECT group_concat(CASE WHEN substr(runbook.name, place, 1) GLOB '[A-Za-z0-9]'
                                               THEN substr(runbook.name, place, 1)
                                               ELSE '_'
                                          END, '')
                        FROM letter) || '_v' || runbook.version             AS data_table_name,
       runbook.is_active,
       runbook.overdue                                                      AS overdue_behavior,
       runbook.overdue_applied                                              AS ignore_overdue_applied,
       runbook.rerun_init,
       strftime('%Y-%m-%dT%H:%M:%fZ', runbook.created_at / 1000.0, 'unixepoch')
                                                                            AS created_at,
       runbook.last_error,
       strftime('%Y-%m-%dT%H:%M:%fZ', runbook.last_error_at / 1000.0, 'unixepoch')
                                                                            AS last_error_at
  FROM runbook;

CREATE VIEW batches AS
SELECT batch.id,
       runbook.id                                                           AS runbook_id,
       strftime('%Y-%m-%dT%H:%M:%fZ', batch.start / 1000.0, 'unixepoch')    AS batch_start_time,
       batch.status,
       strftime('%Y-%m-%dT%H:%M:%fZ', batch.created_at / 1000.0, 'unixepoch') AS detected_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', batch.init_dispatched_at / 1000.0, 'unixepoch')
                                                                            AS init_dispatched_at,
       batch.mode = 'manual'                                                AS is_manual,
       batch.actor                                                          AS created_by,
       batch.current_phase
  FROM batch
  LEFT JOIN runbook ON runbook.name = batch.runbook AND runbook.version = batch.runbook_version;

-- Status and data are those of the member's newest run; once retention has deleted that, its stub
-- still says how it ended.
CREATE VIEW batch_members AS
SELECT member.id,
       member.batch                                                         AS batch_id,
       member.key                                                           AS member_key,
       coalesce(header.input, '{}')                                         AS data_json,
       run.outputs                                                          AS worker_data_json,
       CASE
           WHEN member.removed_at IS NOT NULL                THEN 'removed'
           WHEN coalesce(run.status, stub.status) = 'failed' THEN 'failed'
           ELSE 'active'
       END                                                                  AS status,
       strftime('%Y-%m-%dT%H:%M:%fZ', member.added_at / 1000.0, 'unixepoch') AS added_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', member.removed_at / 1000.0, 'unixepoch') AS removed_at,
       CASE WHEN coalesce(run.status, stub.status) = 'failed'
            THEN strftime('%Y-%m-%dT%H:%M:%fZ', coalesce(run.ended_at, stub.ended_at) / 1000.0,
                          'unixepoch')
       END                                                                  AS failed_at,
       -- Its run begins with it.
       strftime('%Y-%m-%dT%H:%M:%fZ', member.added_at / 1000.0, 'unixepoch') AS add_dispatched_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', member.removal_dispatched_at / 1000.0, 'unixepoch')
                                                                            AS remove_dispatched_at
  FROM batch_member AS member
  LEFT JOIN run ON run.id = member.run_id
  LEFT JOIN run_header AS header ON header.run_id = member.run_id
  LEFT JOIN stub ON stub.run_id = member.run_id;

CREATE VIEW phase_executions AS
SELECT id,
       batch                                                                AS batch_id,
       name                                                                 AS phase_name,
       offset_minutes,
       strftime('%Y-%m-%dT%H:%M:%fZ', due_at / 1000.0, 'unixepoch')         AS due_at,
       version                                                              AS runbook_version,
       status,
       strftime('%Y-%m-%dT%H:%M:%fZ', dispatched_at / 1000.0, 'unixepoch')  AS dispatched_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', completed_at / 1000.0, 'unixepoch')   AS completed_at
  FROM batch_phase;

-- Steps of batches in the words of the dialect: what the next two views share.
--
-- A step to which nothing has happened yet has no row: it is pending. Neither has one whose phase was
-- passed over, since the dialect makes no rows for such a phase.
CREATE VIEW batch_step AS
SELECT known.number * 65536 + step.position                                 AS id,
       known.batch,
       known.member,
       known.role,
       run.workflow_version,
       spec.step,
       spec.gate,
       spec.gate_position,
       spec.pool                                                            AS worker_id,
       coalesce(step.kind, spec.kind)                                       AS function_name,
       step.params                                                          AS params_json,
       CASE step.status
           WHEN 'waiting'    THEN 'pending'
           WHEN 'ready'      THEN 'pending'
           WHEN 'retry_wait' THEN 'pending'
           WHEN 'expanded'   THEN 'dispatched'
           WHEN 'acked'      THEN 'dispatched'
           WHEN 'timed_out'  THEN 'poll_timeout'
           WHEN 'skipped'    THEN 'cancelled'
           ELSE step.status
       END                                                                  AS status,
       -- Taken back while a retry waits, as the dialect does it.
       CASE WHEN step.attempt > 0 AND step.status <> 'retry_wait' THEN
           CASE known.role WHEN 'init' THEN 'init-' ELSE 'step-' END
           || (known.number * 65536 + step.position)
           || CASE step.attempt WHEN 1 THEN '-attempt-1' ELSE '-retry-' || (step.attempt - 1) END
           || CASE WHEN step.detail ->> '$.poll.count' > 0
                   THEN '-poll-' || (step.detail ->> '$.poll.count')
                   ELSE ''
              END
       END                                                                  AS job_id,
       step.result                                                          AS result_json,
       step.error_message,
       strftime('%Y-%m-%dT%H:%M:%fZ', step.dispatched_at / 1000.0, 'unixepoch') AS dispatched_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', step.ended_at / 1000.0, 'unixepoch')  AS completed_at,
       spec.poll_interval_s IS NOT NULL                                     AS is_poll_step,
       spec.poll_interval_s                                                 AS poll_interval_sec,
       spec.poll_timeout_s                                                  AS poll_timeout_sec,
       strftime('%Y-%m-%dT%H:%M:%fZ', (step.detail ->> '$.poll.started_at') / 1000.0, 'unixepoch')
                                                                            AS poll_started_at,
       strftime('%Y-%m-%dT%H:%M:%fZ',
                CASE step.detail ->> '$.poll.count'
                    WHEN 0 THEN step.detail ->> '$.poll.started_at'
                    ELSE iif(step.detail ->> '$.poll.count' > 0, step.dispatched_at, NULL)
                END / 1000.0, 'unixepoch')                                  AS last_polled_at,
       coalesce(step.detail ->> '$.poll.count', 0)                          AS poll_count,
       -- Without the version that tells the rollbacks of several versions apart.
       rtrim(rtrim(spec.on_failure, '0123456789'), '@')                     AS on_failure,
       -- Counted when it is decided on, not when it begins.
       iif(step.status = 'retry_wait', step.tries, max(step.tries - 1, 0))  AS retry_count,
       spec.retries_max                                                     AS max_retries,
       spec.retry_interval_s                                                AS retry_interval_sec,
       CASE WHEN step.status = 'retry_wait'
            THEN strftime('%Y-%m-%dT%H:%M:%fZ', step.wake_at / 1000.0, 'unixepoch')
       END                                                                  AS retry_after
  FROM batch_run AS known
  JOIN run ON run.id = known.run_id
  JOIN step ON step.run_id = known.run_id
  JOIN step_spec AS spec ON spec.workflow = run.workflow
                        AND spec.workflow_version = run.workflow_version
                        AND spec.position = step.position
 WHERE step.detail ->> '$.skip' IS NOT 'superseded';

-- The kernel calls a step of a phase by the names of both.
CREATE VIEW step_executions AS
SELECT step.id,
       phase.id                                                             AS phase_execution_id,
       step.member                                                          AS batch_member_id,
       CASE WHEN substr(step.step, 1, length(phase.gate) + 1) = phase.gate || '/'
            THEN substr(step.step, length(phase.gate) + 2)
            ELSE step.step
       END                                                                  AS step_name,
       step.gate_position                                                   AS step_index,
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

CREATE VIEW init_executions AS
SELECT id,
       batch                                                                AS batch_id,
       workflow_version                                                     AS runbook_version,
       step                                                                 AS step_name,
       gate_position                                                        AS step_index,
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

CREATE VIEW runbook_automation_settings AS
SELECT runbook                                                              AS runbook_name,
       enabled                                                              AS automation_enabled,
       strftime('%Y-%m-%dT%H:%M:%fZ', enabled_at / 1000.0, 'unixepoch')     AS enabled_at,
       enabled_by,
       strftime('%Y-%m-%dT%H:%M:%fZ', disabled_at / 1000.0, 'unixepoch')    AS disabled_at,
       disabled_by
  FROM automation;
