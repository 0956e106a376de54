//! What is refused in the steps of a runbook, and because its parts do not fit together.

use expect_test::expect;

use super::refused::{check, check_step, check_top};
use super::with_steps;

#[test]
fn a_step_says_who_does_what() {
    // A-012
    check(
        &with_steps("{}, text"),
        expect![[r#"
            3:41: phases[0].steps[0].name: this field is required
            3:41: phases[0].steps[0].worker_id: this field is required
            3:41: phases[0].steps[0].function: this field is required
            3:45: phases[0].steps[1]: this must be an object, not text
        "#]],
    );
    check(
        &with_steps(
            "{name: '', worker_id: a b, function: ''}, {name: x, worker_id: \"w' OR 1=1\", function: [F]}",
        ),
        expect![[r#"
            3:48: phases[0].steps[0].name: this text must not be empty
            3:63: phases[0].steps[0].worker_id: "a b" cannot be used here; use letters, digits, '.', '_' and '-', and begin with a letter or a digit
            3:78: phases[0].steps[0].function: this text must not be empty
            3:104: phases[0].steps[1].worker_id: "w' OR 1=1" cannot be used here; use letters, digits, '.', '_' and '-', and begin with a letter or a digit
            3:127: phases[0].steps[1].function: this must be text, not a list
        "#]],
    );
    check_step(
        &["params: [a]", "params: text", "on_failure: []", "timeout: 0s"],
        expect![[r#"
        params: [a]
            10:13: phases[0].steps[0].params: this must be an object, not a list
        params: text
            10:13: phases[0].steps[0].params: this must be an object, not text
        on_failure: []
            10:17: phases[0].steps[0].on_failure: this must be text, not a list
        timeout: 0s
            10:14: phases[0].steps[0].timeout: 0s is out of range; use 1s to 3650d
    "#]],
    );
}

#[test]
fn durations_are_numbers_with_a_unit_in_whole_seconds() {
    // A-021
    check_step(
        &[
            "poll: {}",
            "poll: {interval: 30, timeout: 1h}",
            "poll: {interval: 500ms, timeout: 1h}",
            "poll: {interval: 0s, timeout: 1h}",
            "poll: {interval: 1h, timeout: 30m}",
            "poll: {interval: 1h, timeout: 5000d}",
            "retry: {max_retries: 2, interval: 5 minutes}",
            "retry: {max_retries: 2, interval: 1000ms}",
            "retry: {max_retries: two, interval: 5m}",
            "retry: {max_retries: 1000}",
            "retry: 3",
            "timeout: 1500ms",
        ],
        expect![[r#"
            poll: {}
                10:11: phases[0].steps[0].poll.interval: this field is required
                10:11: phases[0].steps[0].poll.timeout: this field is required
            poll: {interval: 30, timeout: 1h}
                10:22: phases[0].steps[0].poll.interval: "30" is not a duration; write a whole number and one of s, m, h or d, without spaces, such as 30s or 15m, up to 3650d
            poll: {interval: 500ms, timeout: 1h}
                10:22: phases[0].steps[0].poll.interval: "500ms" is not a duration; write a whole number and one of s, m, h or d, without spaces, such as 30s or 15m, up to 3650d
            poll: {interval: 0s, timeout: 1h}
                10:22: phases[0].steps[0].poll.interval: 0s is out of range; use 1s to 3650d
            poll: {interval: 1h, timeout: 30m}
                10:35: phases[0].steps[0].poll.timeout: polling ends after 30m, before it asks again; use at least the interval, 1h
            poll: {interval: 1h, timeout: 5000d}
                10:35: phases[0].steps[0].poll.timeout: "5000d" is not a duration; write a whole number and one of s, m, h or d, without spaces, such as 30s or 15m, up to 3650d
            retry: {max_retries: 2, interval: 5 minutes}
                10:39: phases[0].steps[0].retry.interval: "5 minutes" is not a duration; write a whole number and one of s, m, h or d, without spaces, such as 30s or 15m, up to 3650d
            retry: {max_retries: 2, interval: 1000ms}
                10:39: phases[0].steps[0].retry.interval: "1000ms" is not a duration; write a whole number and one of s, m, h or d, without spaces, such as 30s or 15m, up to 3650d
            retry: {max_retries: two, interval: 5m}
                10:26: phases[0].steps[0].retry.max_retries: this must be a whole number, not text
            retry: {max_retries: 1000}
                10:26: phases[0].steps[0].retry.max_retries: 1000 is out of range; use 0 to 999
            retry: 3
                10:12: phases[0].steps[0].retry: this must be an object, not a number
            timeout: 1500ms
                10:14: phases[0].steps[0].timeout: "1500ms" is not a duration; write a whole number and one of s, m, h or d, without spaces, such as 30s or 15m, up to 3650d
        "#]],
    );
}

#[test]
fn outputs_are_variables_that_a_placeholder_can_name() {
    // X-036: names that begin with an underscore are the system's own.
    check_step(
        &[
            "output_params: [a]",
            "output_params: {_batch_id: id}",
            "output_params: {'a b': id, 1st: id}",
            "output_params: {a: [id], b: ''}",
        ],
        expect![[r#"
            output_params: [a]
                10:20: phases[0].steps[0].output_params: this must be an object, not a list
            output_params: {_batch_id: id}
                10:32: phases[0].steps[0].output_params._batch_id: "_batch_id" cannot be the name of a variable; use letters, digits, '_' and '-', and begin with a letter; names that begin with '_' are the system's own
            output_params: {'a b': id, 1st: id}
                10:28: phases[0].steps[0].output_params["a b"]: "a b" cannot be the name of a variable; use letters, digits, '_' and '-', and begin with a letter; names that begin with '_' are the system's own
                10:37: phases[0].steps[0].output_params.1st: "1st" cannot be the name of a variable; use letters, digits, '_' and '-', and begin with a letter; names that begin with '_' are the system's own
            output_params: {a: [id], b: ''}
                10:24: phases[0].steps[0].output_params.a: this must be text, not a list
                10:33: phases[0].steps[0].output_params.b: this text must not be empty
        "#]],
    );
}

#[test]
fn on_failure_names_a_rollback_that_exists() {
    // A-014
    check_step(
        &["on_failure: undo"],
        expect![[r#"
        on_failure: undo
            10:17: phases[0].steps[0].on_failure: there is no rollback "undo"; add it under rollbacks
    "#]],
    );
    let text = format!(
        "{}rollbacks: {{undo-move: [{{name: u, worker_id: w, function: F}}]}}\n",
        with_steps("{name: s, worker_id: w, function: F, on_failure: undo-mvoe}")
    );
    check(
        &text,
        expect![[r#"
            3:90: phases[0].steps[0].on_failure: there is no rollback "undo-mvoe"; did you mean "undo-move"?
        "#]],
    );
}

#[test]
fn what_undoes_something_is_not_undone_itself() {
    // X-042
    check_top(
        &[
            "on_member_removed: [{name: r, worker_id: w, function: F, on_failure: u}]",
            "rollbacks: {u: [{name: u, worker_id: w, function: F, on_failure: u}]}",
        ],
        expect![[r#"
            on_member_removed: [{name: r, worker_id: w, function: F, on_failure: u}]
                4:70: on_member_removed[0].on_failure: what undoes something is not undone itself; remove on_failure; only steps of phases and of init have one
            rollbacks: {u: [{name: u, worker_id: w, function: F, on_failure: u}]}
                4:66: rollbacks.u[0].on_failure: what undoes something is not undone itself; remove on_failure; only steps of phases and of init have one
        "#]],
    );
}

#[test]
fn init_knows_no_member() {
    // A-057, X-042: special variables only, in its steps and in what undoes them.
    check_top(
        &[
            "init: [{name: i, worker_id: w, function: 'New-{{ObjectType}}'}]",
            "init: [{name: i, worker_id: w, function: F, params: {a: '{{_batch_idd}}', b: '{{_tenant_id}}'}}]",
            "init: [{name: i, worker_id: w, function: F, params: {a: '{{A}}'}, output_params: {A: a}}]",
            "init: [{name: i, worker_id: w, function: F, on_failure: u}]\n\
             rollbacks: {u: [{name: u, worker_id: w, function: F, params: {a: '{{_batch_id}} {{Mail}}'}}]}",
            "init: [{name: i, worker_id: w, function: F, on_failure: nowhere}]",
        ],
        expect![[r#"
            init: [{name: i, worker_id: w, function: 'New-{{ObjectType}}'}]
                4:42: init[0].function: init has no member, so there is no variable "ObjectType"; use _batch_id and _batch_start_time
            init: [{name: i, worker_id: w, function: F, params: {a: '{{_batch_idd}}', b: '{{_tenant_id}}'}}]
                4:57: init[0].params.a: there is no variable "_batch_idd"; did you mean "_batch_id"?
                4:78: init[0].params.b: there is no variable "_tenant_id"; names that begin with '_' are the system's own: _batch_id and _batch_start_time; give a column another name in the query
            init: [{name: i, worker_id: w, function: F, params: {a: '{{A}}'}, output_params: {A: a}}]
                4:57: init[0].params.a: init has no member, so there is no variable "A"; use _batch_id and _batch_start_time
            init: [{name: i, worker_id: w, function: F, on_failure: u}]
            rollbacks: {u: [{name: u, worker_id: w, 
                4:57: init[0].on_failure: init has no member, and the rollback "u" uses "Mail"; write a rollback for init that uses special variables only
            init: [{name: i, worker_id: w, function: F, on_failure: nowhere}]
                4:57: init[0].on_failure: there is no rollback "nowhere"; add it under rollbacks
        "#]],
    );
}

#[test]
fn a_placeholder_is_well_formed_and_underscores_are_reserved() {
    // X-036: what no member can have is refused before there is one.
    check_step(
        &[
            "params: {a: '{{Mail'}",
            "params: {a: [{b: '{{}}'}]}",
            "params: {a: '{{First Name}}'}",
            "params: {a: '{{_batch_idd}}'}",
            "params: {a: '{{_ownerid_value}}'}",
            "params: {a: '{{_batch_id.x}}'}",
        ],
        expect![[r#"
            params: {a: '{{Mail'}
                10:17: phases[0].steps[0].params.a: a placeholder begins with {{ and is never closed; add }} after the name
            params: {a: [{b: '{{}}'}]}
                10:22: phases[0].steps[0].params.a[0].b: a placeholder is empty; write a name between the braces, such as {{Email}}
            params: {a: '{{First Name}}'}
                10:17: phases[0].steps[0].params.a: "First Name" cannot be a placeholder's name; use letters, digits, _, - and dots
            params: {a: '{{_batch_idd}}'}
                10:17: phases[0].steps[0].params.a: there is no variable "_batch_idd"; did you mean "_batch_id"?
            params: {a: '{{_ownerid_value}}'}
                10:17: phases[0].steps[0].params.a: there is no variable "_ownerid_value"; names that begin with '_' are the system's own: _batch_id and _batch_start_time; give a column another name in the query
            params: {a: '{{_batch_id.x}}'}
                10:17: phases[0].steps[0].params.a: there is no variable "_batch_id.x"; did you mean "_batch_id"?
        "#]],
    );
    check(
        &with_steps("{name: s, worker_id: w, function: 'New-{{}}'}"),
        expect![[r#"
        3:75: phases[0].steps[0].function: a placeholder is empty; write a name between the braces, such as {{Email}}
    "#]],
    );
}

#[test]
fn a_name_is_held_against_the_columns_if_they_are_listed() {
    // X-034: not a column, not special, not an output that is set before.
    check(
        "
name: a
data_source: {type: csv, connection: C, primary_key: Id, batch_time: immediate, columns: [Id, FirstName]}
phases:
  - name: one
    offset: T-1d
    steps:
      - {name: early, worker_id: w, function: F, params: {a: '{{Made}}', b: '{{FristName}}', c: '{{Mail}}'}}
      - {name: make, worker_id: w, function: F, params: {a: '{{Made}}'}, output_params: {Made: id}, on_failure: undo}
on_member_removed: [{name: r, worker_id: w, function: F, params: {a: '{{Ticket}}'}}]
rollbacks:
  undo:
    - {name: u, worker_id: w, function: F, params: {a: '{{Ticket}} {{Made}}'}}
    - {name: v, worker_id: w, function: F, output_params: {Ticket: id}}
",
        expect![[r#"
            8:62: phases[0].steps[0].params.a: "Made" is set by step "make", which is not before this one; move that step before this one
            8:77: phases[0].steps[0].params.b: there is no variable "FristName"; did you mean "FirstName"?
            8:97: phases[0].steps[0].params.c: there is no variable "Mail"; list it in the columns of data_source, or set it in output_params
            9:61: phases[0].steps[1].params.a: "Made" is set by this step itself, after it has ended; set it in a step before
            10:70: on_member_removed[0].params.a: there is no variable "Ticket"; list it in the columns of data_source, or set it in output_params
            13:56: rollbacks.undo[0].params.a: "Ticket" is set by step "v", which is not before this one; move that step before this one
        "#]],
    );
}
