//! What a sound runbook document becomes.

use expect_test::expect;
use stepwell_core::definition::Poll;
use stepwell_core::duration::Interval;
use stepwell_dialects::runbooks::document::{
    BatchTime, MultiValueFormat, Retry, Runbook, RunbookStep, SourceKind,
};
use stepwell_dialects::runbooks::is_runbook;

use super::{HEAD, MAILBOXES, reading, runbook, with_steps};

fn secs(secs: u64) -> Interval {
    Interval::from_secs(secs)
}

/// Every step of a runbook by its name.
fn step<'r>(runbook: &'r Runbook, name: &str) -> &'r RunbookStep {
    let phases = runbook.phases.iter().flat_map(|phase| &phase.steps);
    let rollbacks = runbook.rollbacks.values().flatten();
    let all = phases.chain(rollbacks).chain(&runbook.init).chain(&runbook.on_member_removed);
    all.into_iter().find(|step| step.name == name).unwrap()
}

// A-007, A-012, A-013: every key of the document, and the same step shape in all four places.
#[test]
fn a_document_with_everything_is_read_whole() {
    let runbook = runbook(MAILBOXES);
    assert_eq!(runbook.name, "contoso-mailbox-migration");
    assert_eq!(runbook.description, "Moves mailboxes.");
    let phases: Vec<String> = runbook
        .phases
        .iter()
        .map(|phase| format!("{} {} {}", phase.name, phase.offset, phase.steps.len()))
        .collect();
    assert_eq!(phases, ["pre-notification T-5d 1", "prepare T-4h 1", "cutover T-0 1"]);
    let move_step = step(&runbook, "start-mailbox-move");
    assert_eq!(
        (move_step.worker_id.as_str(), move_step.function.as_str()),
        ("worker-02", "Start-MailboxMove")
    );
    expect![[r#"{"Batch":"{{_batch_id}}","UserId":"{{NewUserId}}"}"#]]
        .assert_eq(&serde_json::to_string(&move_step.params).unwrap());
    assert_eq!(move_step.on_failure.as_deref(), Some("undo-mailbox-move"));
    assert_eq!(move_step.timeout, None);
    let outputs = &step(&runbook, "create-object").output_params;
    assert_eq!(outputs["NewUserId"], "UserId");
    assert_eq!(step(&runbook, "create-batch-group").function, "New-MigrationBatchGroup");
    assert_eq!(step(&runbook, "disable-forwarding").worker_id, "worker-01");
    let undo: Vec<&str> =
        runbook.rollbacks["undo-mailbox-move"].iter().map(|step| step.name.as_str()).collect();
    assert_eq!(undo, ["revert-mailbox", "notify-admin"]);
}

// A-009, A-010
#[test]
fn the_data_source_is_named_by_its_environment_variables() {
    let source = runbook(MAILBOXES).data_source;
    assert_eq!(
        source.kind,
        SourceKind::Databricks {
            query: "SELECT * FROM migration.members".to_owned(),
            warehouse_id: "DATABRICKS_WAREHOUSE_ID".to_owned(),
        }
    );
    assert_eq!(source.connection, "DATABRICKS_CONNECTION_STRING");
    assert_eq!(source.primary_key, "UserPrincipalName");
    assert_eq!(source.batch_time, BatchTime::Column("MigrationDate".to_owned()));
    let columns: Vec<(&str, MultiValueFormat)> = source
        .multi_valued_columns
        .iter()
        .map(|column| (column.name.as_str(), column.format))
        .collect();
    let expected = [
        ("Aliases", MultiValueFormat::SemicolonDelimited),
        ("Groups", MultiValueFormat::CommaDelimited),
        ("Licenses", MultiValueFormat::JsonArray),
    ];
    assert_eq!(columns, expected);
}

// A-009: and the sources that we add.
#[test]
fn every_type_of_source_has_its_own_fields() {
    let kind = |fields: &str| {
        let text = format!(
            "name: a\ndata_source: {{connection: C, primary_key: Id, batch_time: immediate, {fields}}}\n\
             phases: [{{name: p, offset: T-0, steps: [{{name: s, worker_id: w, function: F}}]}}]\n"
        );
        let source = runbook(&text).data_source;
        assert_eq!(source.batch_time, BatchTime::Immediate);
        format!("{:?}\n", source.kind)
    };
    let kinds = [
        kind("type: dataverse, query: SELECT 1"),
        kind("type: databricks, query: SELECT 1, warehouse_id: W"),
        kind("type: postgres, query: SELECT 1"),
        kind("type: sqlite, query: SELECT 1"),
        kind("type: csv"),
        kind("type: http"),
        kind("type: http, query: '/users?wave=1', rows: value"),
    ];
    expect![[r#"
        Dataverse { query: "SELECT 1" }
        Databricks { query: "SELECT 1", warehouse_id: "W" }
        Postgres { query: "SELECT 1" }
        Sqlite { query: "SELECT 1" }
        Csv
        Http { query: None, rows: None }
        Http { query: Some("/users?wave=1"), rows: Some("value") }
    "#]]
    .assert_eq(&kinds.concat());
}

// A-021: 15m, 24h, 30s and 7d, in whole seconds.
#[test]
fn durations_are_read_as_whole_seconds() {
    let poll = step(&runbook(MAILBOXES), "start-mailbox-move").poll.unwrap();
    assert_eq!((poll.interval.as_secs(), poll.timeout.as_secs()), (900, 86_400));
    let text = with_steps(
        "{name: s, worker_id: w, function: F, timeout: 45m, poll: {interval: 30s, timeout: 7d}}",
    );
    let runbook = runbook(&text);
    let step = step(&runbook, "s");
    assert_eq!(step.poll, Some(Poll { interval: secs(30), timeout: secs(604_800) }));
    assert_eq!(step.timeout, Some(secs(2_700)), "our extension");
}

// A-022: phases, init, rollbacks and removal alike.
#[test]
fn the_retry_of_the_document_counts_for_every_step() {
    let runbook = runbook(MAILBOXES);
    let global = Retry { max_retries: 2, interval: secs(60) };
    for name in ["create-batch-group", "start-mailbox-move", "revert-mailbox", "disable-forwarding"]
    {
        assert_eq!(step(&runbook, name).retry, global, "{name}");
    }
}

// A-023, A-024: the block of a step replaces that of the document, and nothing is merged.
#[test]
fn the_retry_of_a_step_replaces_that_of_the_document_whole() {
    let whole = runbook(MAILBOXES);
    assert_eq!(step(&whole, "notify").retry, Retry { max_retries: 3, interval: secs(30) });
    let off = Retry { max_retries: 0, interval: Interval::ZERO };
    assert_eq!(step(&whole, "create-object").retry, off, "max_retries: 0 turns retry off");
    let steps = "{name: no-interval, worker_id: w, function: F, retry: {max_retries: 4}}, \
                 {name: no-retries, worker_id: w, function: F, retry: {interval: 9s}}";
    let text = format!("{}retry: {{max_retries: 2, interval: 1m}}\n", with_steps(steps));
    let runbook = reading(&text).runbook;
    let expected = Retry { max_retries: 4, interval: Interval::ZERO };
    assert_eq!(step(&runbook, "no-interval").retry, expected);
    let expected = Retry { max_retries: 0, interval: secs(9) };
    assert_eq!(step(&runbook, "no-retries").retry, expected);
}

// X-154: runbooks retry nothing unless they say so.
#[test]
fn a_short_document_has_quiet_defaults() {
    let runbook = runbook(&with_steps("{name: s, worker_id: w, function: F}"));
    let step = step(&runbook, "s");
    assert_eq!(step.retry, Retry { max_retries: 0, interval: Interval::ZERO });
    assert!(step.params.is_empty() && step.output_params.is_empty());
    assert_eq!((step.poll, step.on_failure.as_ref(), step.timeout), (None, None, None));
    assert_eq!(runbook.description, "");
    assert!(runbook.init.is_empty() && runbook.on_member_removed.is_empty());
    assert!(runbook.rollbacks.is_empty() && runbook.data_source.columns.is_none());
}

// X-078: offset descending, then the order of the document.
#[test]
fn phases_stand_in_the_order_in_which_they_are_due() {
    let phase = |name: &str, offset: &str| {
        format!(
            "  - {{name: {name}, offset: {offset}, steps: [{{name: s, worker_id: w, function: F}}]}}\n"
        )
    };
    let phases = [
        phase("after", "T+2h"),
        phase("two-minutes", "T-2m"),
        phase("ninety-seconds", "T-90s"),
        phase("zero", "T-0"),
        phase("first", "T-5d"),
    ];
    let runbook = reading(&format!("{HEAD}phases:\n{}", phases.concat())).runbook;
    let order: Vec<&str> = runbook.phases.iter().map(|phase| phase.name.as_str()).collect();
    assert_eq!(order, ["first", "two-minutes", "ninety-seconds", "zero", "after"]);
}

// A-069, A-070, A-072, X-041: in function and params, in all places that know a member.
#[test]
fn a_placeholder_may_use_what_is_known_where_it_stands() {
    let text = "
name: a
data_source:
  {type: csv, connection: C, primary_key: Id, batch_time_column: At, columns: [Id, At, First Name, Mail]}
phases:
  - name: one
    offset: T-1d
    steps:
      - {name: make, worker_id: w, function: 'New-{{Mail}}', params: {a: ['{{id}} {{MAIL}}', {b: '{{_batch_id}}'}]}, output_params: {Made: id}}
      - {name: use, worker_id: w, function: F, params: {a: '{{Made}} {{made.id}}'}, on_failure: undo}
  - name: two
    offset: T-0
    steps: [{name: later, worker_id: w, function: F, params: {a: '{{Made}}'}, output_params: {Late: id}}]
on_member_removed: [{name: r, worker_id: w, function: F, params: {a: '{{Made}} {{Late}} {{Mail}} {{_batch_start_time}}'}}]
rollbacks:
  undo:
    - {name: u, worker_id: w, function: F, params: {a: '{{Late}} {{Id}} {{_batch_id}}'}, output_params: {Ticket: id}}
    - {name: v, worker_id: w, function: F, params: {a: '{{Ticket}}'}}
";
    runbook(text);
    let open =
        with_steps("{name: s, worker_id: w, function: F, params: {a: '{{Anything.at.all}}'}}");
    runbook(&open);
}

// X-042: a rollback may undo init if it needs no member.
#[test]
fn init_may_roll_back_with_special_variables() {
    let text = format!(
        "{}init: [{{name: i, worker_id: w, function: F, on_failure: undo}}]
rollbacks: {{undo: [{{name: u, worker_id: w, function: F, params: {{b: '{{{{_batch_id}}}}'}}}}]}}\n",
        with_steps("{name: s, worker_id: w, function: F}")
    );
    assert_eq!(runbook(&text).init[0].on_failure.as_deref(), Some("undo"));
}

// A-029
#[test]
fn the_name_of_the_table_that_nobody_reads_is_still_told() {
    assert_eq!(runbook(MAILBOXES).data_table_name(3), "runbook_contoso_mailbox_migration_v3");
}

#[test]
fn names_for_people_may_have_blanks_and_any_letters() {
    let text = "
name: Überführung der Postfächer (Welle 1)
data_source: {type: csv, connection: C, primary_key: E-Mail, batch_time_column: Start Zeit}
phases: [{name: vor dem Umzug, offset: T-0, steps: [{name: 'Umzug [EU]', worker_id: w, function: F}]}]
";
    let runbook = runbook(text);
    assert_eq!(runbook.phases[0].name, "vor dem Umzug");
    assert_eq!(runbook.data_table_name(1), "runbook__berf_hrung_der_Postf_cher__Welle_1__v1");
}

#[test]
fn a_runbook_is_told_from_a_workflow_by_its_keys() {
    assert!(is_runbook(MAILBOXES.as_bytes()));
    assert!(is_runbook(b"phases: []"));
    assert!(is_runbook(b"data_source: {}\nsteps: []"));
    assert!(!is_runbook(b"name: a\nsteps: [{id: s, type: T, pool: p}]"));
    assert!(!is_runbook(b"phases"));
    assert!(!is_runbook(b"{{"));
}
