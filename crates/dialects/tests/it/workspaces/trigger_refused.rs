//! Documents of triggers that are refused.

use expect_test::expect;
use stepwell_dialects::workspaces::trigger::read;

/// Documents that the schema for editors refuses too.
pub(super) const REFUSED: [&str; 7] = [
    "{kind: manual, workflow_id: w}",
    "{name: A b, kind: manual, workflow_id: w}",
    "{name: x, kind: cron, workflow_id: w}",
    "{name: x, kind: schedule, workflow_id: w}",
    "{name: x, kind: manual, workflow_id: w, webhook: {}}",
    "{name: x, kind: file_drop, workflow_id: w, file_drop: {glob: a}}",
    "{name: x, kind: manual, workflow_id: w, inputs: {}}",
];

#[test]
fn every_problem_of_a_trigger_is_told_with_its_place() {
    // C-007
    let others = [
        "{name: x, kind: schedule, workflow_id: w, schedule: {cron: 61 * * * *}}",
        "{name: x, kind: schedule, workflow_id: w, schedule: {cron: 0 0 30 2 *}}",
        "{name: x, kind: schedule, workflow_id: w, schedule: {cron: '@daily', time_zone: Mars/Base}}",
        "{name: x, kind: schedule, workflow_id: w, schedule: {cron: '@daily', overlap: maybe, catch_up: soon}}",
        "{name: x, kind: schedule, workflow_id: w, input: {a: '{{_body.x}}', b: '{{oops'}, schedule: {cron: '@daily'}}",
        "{name: x, kind: webhook, workflow_id: w, input: [1], webhook: {secret_env: my secret, tolerance: 2d, secret: s}}",
        "{name: x, kind: file_drop, workflow_id: w, file_drop: {directory: in, glob: a/b, settle: 2d, processed: /tmp}}",
        "{name: x, kind: file_drop, workflow_id: w, file_drop: {directory: /in/../etc, after: delete}}",
        "{name: x, kind: manual, workflow_id: w, max_attempts: 0, credits_estimate: -1, priority: 11}",
    ];
    let mut told = String::new();
    for text in REFUSED.into_iter().chain(others) {
        let problems = read(text.as_bytes()).unwrap_err().to_string();
        told.push_str(&format!("{text}\n    {}\n", problems.replace('\n', "\n    ")));
    }
    expect![[r#"
        {kind: manual, workflow_id: w}
            1:1: name: this field is required
        {name: A b, kind: manual, workflow_id: w}
            1:8: name: "A b" cannot be used here; use lower-case letters, digits, '.', '_' and '-', and begin with a letter or a digit
        {name: x, kind: cron, workflow_id: w}
            1:17: kind: "cron" is not possible here; use one of manual, schedule, webhook, file_drop
        {name: x, kind: schedule, workflow_id: w}
            1:1: schedule: this field is required
        {name: x, kind: manual, workflow_id: w, webhook: {}}
            1:50: webhook: only a trigger of kind webhook has this; remove it, or change the kind
        {name: x, kind: file_drop, workflow_id: w, file_drop: {glob: a}}
            1:55: file_drop.directory: this field is required
        {name: x, kind: manual, workflow_id: w, inputs: {}}
            1:41: inputs: there is no field "inputs"; did you mean "input"?
        {name: x, kind: schedule, workflow_id: w, schedule: {cron: 61 * * * *}}
            1:60: schedule.cron: minute, at character 1: `61` is out of range; a minute is 0 to 59
        {name: x, kind: schedule, workflow_id: w, schedule: {cron: 0 0 30 2 *}}
            1:60: schedule.cron: the expression never fires: no month that it names has such a day; correct the day or the month
        {name: x, kind: schedule, workflow_id: w, schedule: {cron: '@daily', time_zone: Mars/Base}}
            1:81: schedule.time_zone: no time zone is called `Mars/Base`; write its IANA name, such as Europe/Berlin or UTC
        {name: x, kind: schedule, workflow_id: w, schedule: {cron: '@daily', overlap: maybe, catch_up: soon}}
            1:79: schedule.overlap: "maybe" is not possible here; use one of skip, queue, allow
            1:96: schedule.catch_up: "soon" is not a duration: it does not begin with a whole number; write a whole number and one of ms, s, m, h or d, without spaces, such as 30s or 15m
        {name: x, kind: schedule, workflow_id: w, input: {a: '{{_body.x}}', b: '{{oops'}, schedule: {cron: '@daily'}}
            1:54: input.a: there is no variable "_body.x"; known here are _trigger, _key, _fired_at, _scheduled_for
            1:72: input.b: a placeholder begins with {{ and is never closed; add }} after the name
        {name: x, kind: webhook, workflow_id: w, input: [1], webhook: {secret_env: my secret, tolerance: 2d, secret: s}}
            1:49: input: this must be an object, or exactly one placeholder such as {{_body}}
            1:76: webhook.secret_env: "my secret" cannot be used here; name an environment variable of the server, such as ORDERS_HOOK_SECRET
            1:98: webhook.tolerance: 2d is out of range; use 1s to 1h
            1:102: webhook.secret: there is no field "secret"; known fields are secret_env, tolerance
        {name: x, kind: file_drop, workflow_id: w, file_drop: {directory: in, glob: a/b, settle: 2d, processed: /tmp}}
            1:67: file_drop.directory: "in" depends on where the server was started; write the whole path, such as /srv/incoming
            1:77: file_drop.glob: "a/b" is not a pattern of names; write a pattern of the file's name alone, such as *.csv
            1:90: file_drop.settle: 2d is out of range; use 0s to 1d
            1:105: file_drop.processed: "/tmp" does not lie below the directory; write a name, such as processed/
        {name: x, kind: file_drop, workflow_id: w, file_drop: {directory: /in/../etc, after: delete}}
            1:67: file_drop.directory: "/in/../etc" climbs, or has control characters; write the path without ".."
            1:86: file_drop.after: "delete" is not possible here; use one of move, remember
        {name: x, kind: manual, workflow_id: w, max_attempts: 0, credits_estimate: -1, priority: 11}
            1:55: max_attempts: 0 is out of range; use 1 to 100
            1:76: credits_estimate: -1 is less than nothing; write 0 or more
            1:90: priority: 11 is out of range; use 0 to 10
    "#]]
    .assert_eq(&told);
}
