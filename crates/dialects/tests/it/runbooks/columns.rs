//! The columns of a list of members.

use stepwell_dialects::runbooks::columns::template_columns;

use super::{MAILBOXES, reading, runbook, with_steps};

// the key, then what phases, rollbacks and removal use, then the columns of several values.
#[test]
fn a_list_of_members_has_a_column_for_everything_that_is_used() {
    let columns = template_columns(&runbook(MAILBOXES));
    let expected = [
        "UserPrincipalName",
        "FirstName",
        "LastName",
        "ObjectType",
        "Aliases",
        "Groups",
        "Licenses",
    ];
    assert_eq!(columns, expected, "neither NewUserId, which a step sets, nor _batch_id");
}

//
#[test]
fn a_column_is_named_once_and_what_steps_set_is_nobodys_to_fill_in() {
    let text = with_steps(
        "{name: s, worker_id: w, function: 'Do-{{Kind}}', params: {a: '{{ID}} {{Mail}} {{Made}}'}, \
          output_params: {Made: id, Token: t}}, \
         {name: t, worker_id: w, function: F, params: {a: '{{mail}} {{made}} {{made.id}} {{Site.Name}}'}, \
          on_failure: undo}",
    );
    let text = format!(
        "{text}on_member_removed: [{{name: r, worker_id: w, function: F, params: {{a: '{{{{Left}}}}'}}}}]
rollbacks:
  undo:
    - {{name: u, worker_id: w, function: F, params: {{a: '{{{{Reason}}}} {{{{Token}}}}'}}, output_params: {{Ticket: id}}}}
    - {{name: v, worker_id: w, function: F, params: {{a: '{{{{Ticket}}}}'}}}}\n"
    );
    let columns = template_columns(&reading(&text).runbook);
    // The first step uses Made before it is set, so that somebody must give it.
    assert_eq!(columns, ["Id", "Kind", "Made", "Mail", "Site.Name", "Reason", "Left"]);
}
