//! The runbooks dialect: documents, what is refused in them, and what the kernel runs for them.

mod accept;
mod batch;
mod chain;
mod columns;
mod compile;
mod document;
mod explain;
mod hostile;
mod life;
mod members_csv;
mod members_csv_refused;
mod messages;
mod pages;
mod plan;
mod refused;
mod refused_parts;
mod request;
mod rows;
mod rows_skipped;
mod schema;
mod status;
mod view;
mod warnings;

use stepwell_dialects::runbooks::{Reading, Runbook, read};

/// A runbook with everything that a runbook can have.
const MAILBOXES: &str = r#"
name: contoso-mailbox-migration
description: Moves mailboxes.
data_source:
  type: databricks
  connection: DATABRICKS_CONNECTION_STRING
  warehouse_id: DATABRICKS_WAREHOUSE_ID
  query: SELECT * FROM migration.members
  primary_key: UserPrincipalName
  batch_time_column: MigrationDate
  multi_valued_columns:
    - name: Aliases
      format: semicolon_delimited
    - {name: Groups, format: comma_delimited}
    - {name: Licenses, format: json_array}
retry:
  max_retries: 2
  interval: 1m
init:
  - name: create-batch-group
    worker_id: worker-01
    function: New-MigrationBatchGroup
    params:
      BatchId: "{{_batch_id}}"
      StartTime: "{{_batch_start_time}}"
phases:
  - name: pre-notification
    offset: T-5d
    steps:
      - name: notify
        worker_id: worker-01
        function: Send-Mail
        params:
          Email: "{{UserPrincipalName}}"
          Name: "{{FirstName}} {{LastName}}"
        retry:
          max_retries: 3
          interval: 30s
  - name: prepare
    offset: T-4h
    steps:
      - name: create-object
        worker_id: worker-01
        function: "New-{{ObjectType}}"
        params: {DisplayName: "{{FirstName}}"}
        output_params:
          NewUserId: UserId
        retry:
          max_retries: 0
  - name: cutover
    offset: T-0
    steps:
      - name: start-mailbox-move
        worker_id: worker-02
        function: Start-MailboxMove
        params: {UserId: "{{NewUserId}}", Batch: "{{_batch_id}}"}
        on_failure: undo-mailbox-move
        poll:
          interval: 15m
          timeout: 24h
on_member_removed:
  - name: disable-forwarding
    worker_id: worker-01
    function: Remove-MailForwarding
    params:
      UserPrincipalName: "{{UserPrincipalName}}"
      At: "{{_batch_start_time}}"
rollbacks:
  undo-mailbox-move:
    - name: revert-mailbox
      worker_id: worker-01
      function: Undo-MailboxMove
      params:
        UserPrincipalName: "{{UserPrincipalName}}"
    - name: notify-admin
      worker_id: worker-01
      function: Send-AdminAlert
      params:
        Subject: "Rollback triggered for {{UserPrincipalName}} in {{_batch_id}}"
"#;

/// What a document must have beside its phases.
const HEAD: &str = "\
name: a
data_source: {type: sqlite, connection: SOURCE, query: SELECT 1, primary_key: Id, batch_time: immediate}
";

/// A document that must be sound.
#[track_caller]
fn reading(text: &str) -> Reading {
    read(text.as_bytes()).unwrap_or_else(|problems| panic!("{}", problems.in_file("runbook.yaml")))
}

/// A document that must be sound, and about which there is nothing more to say.
#[track_caller]
fn runbook(text: &str) -> Runbook {
    let reading = reading(text);
    assert_eq!(reading.warnings.map(|warnings| warnings.to_string()), None);
    reading.runbook
}

/// A document with one phase of these steps, each in braces.
fn with_steps(steps: &str) -> String {
    format!("{HEAD}phases: [{{name: p, offset: T-0, steps: [{steps}]}}]\n")
}
