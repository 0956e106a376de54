//! The events that tell that something may be due.

use serde_json::{Value, json};
use stepwell_core::id::{BatchId, MemberId, PhaseId};
use stepwell_dialects::runbooks::event::{
    BatchInit, MESSAGE_TYPES, MemberChange, PhaseDue, StepCheck, read,
};
use stepwell_dialects::runbooks::message::Rejection;
use stepwell_dialects::runbooks::{Event, StepExecutionId};

use super::{camel, recased};

const RUNBOOK: &str = "contoso-mailbox-migration";

fn member(key: &str, id: i64) -> MemberChange {
    let (batch_id, batch_member_id) = (BatchId(42), MemberId(id));
    MemberChange { batch_id, member_key: key.to_owned(), batch_member_id }
}

fn step() -> StepCheck {
    let step_execution_id = StepExecutionId::try_from(1042).unwrap();
    StepCheck { step_execution_id, is_init_step: false }
}

/// Every event with its body as the contract shows it.
fn samples() -> [(Event, &'static str); 6] {
    let (batch_id, runbook_name) = (BatchId(42), RUNBOOK.to_owned());
    let phase_due = PhaseDue {
        batch_id,
        runbook_name: RUNBOOK.to_owned(),
        runbook_version: 3,
        phase_name: "pre-notification".to_owned(),
        phase_execution_id: PhaseId(108),
    };
    [
        (
            Event::BatchInit(BatchInit { batch_id, runbook_name, runbook_version: 3 }),
            r#"{"BatchId":42,"RunbookName":"contoso-mailbox-migration","RunbookVersion":3}"#,
        ),
        (
            Event::PhaseDue(phase_due),
            r#"{"BatchId":42,"RunbookName":"contoso-mailbox-migration","RunbookVersion":3,"PhaseName":"pre-notification","PhaseExecutionId":108}"#,
        ),
        (
            Event::MemberAdded(member("newuser@contoso.com", 505)),
            r#"{"BatchId":42,"MemberKey":"newuser@contoso.com","BatchMemberId":505}"#,
        ),
        (
            Event::MemberRemoved(member("removeduser@contoso.com", 503)),
            r#"{"BatchId":42,"MemberKey":"removeduser@contoso.com","BatchMemberId":503}"#,
        ),
        (Event::PollCheck(step()), r#"{"StepExecutionId":1042,"IsInitStep":false}"#),
        (Event::RetryCheck(step()), r#"{"StepExecutionId":1042,"IsInitStep":false}"#),
    ]
}

#[test]
fn an_event_is_written_as_the_contract_shows_it() {
    // A-194, A-197, A-198, A-199, A-200, A-201, A-205, X-008, X-009: six kinds, capitals, no more.
    for ((event, body), message_type) in samples().into_iter().zip(MESSAGE_TYPES) {
        assert_eq!(event.to_body(), body);
        assert_eq!(event.properties(), [("MessageType", message_type)]);
    }
}

#[test]
fn an_event_is_read_in_any_capitals() {
    // X-008: old producers write batchId, new ones BatchId.
    for (event, body) in samples() {
        let sample: Value = serde_json::from_str(body).unwrap();
        let changes: [fn(&str) -> String; 4] =
            [str::to_owned, camel, str::to_uppercase, str::to_lowercase];
        for change in changes {
            let body = recased(&sample, change).to_string();
            assert_eq!(read(Some(event.message_type()), body.as_bytes()).as_ref(), Ok(&event));
        }
    }
}

/// The same events as the older contract shows them.
fn older() -> [(Event, Value); 5] {
    let [init, due, added, removed, poll, _] = samples().map(|(event, _)| event);
    let batch = |message_type: &str, more: Value| {
        let mut body = json!({
            "messageType": message_type,
            "runbookName": RUNBOOK,
            "runbookVersion": 3,
            "batchId": 42,
        });
        let fields = body.as_object_mut().unwrap();
        fields.extend(more.as_object().unwrap().clone());
        body
    };
    let started = json!({"batchStartTime": "2025-03-15T00:00:00Z", "memberCount": 150});
    let phase = json!({
        "phaseExecutionId": 108, "phaseName": "pre-notification", "offsetMinutes": 7200,
        "dueAt": "2025-03-10T00:00:00Z", "memberIds": [501, 502, 503, 504],
    });
    let joined = json!({"batchMemberId": 505, "memberKey": "newuser@contoso.com"});
    let left = json!({"batchMemberId": 503, "memberKey": "removeduser@contoso.com"});
    let asked = json!({"stepExecutionId": 1042, "stepName": "start-mailbox-move", "pollCount": 5});
    [
        (init, batch("batch-init", started)),
        (due, batch("phase-due", phase)),
        (added, batch("member-added", joined)),
        (removed, batch("member-removed", left)),
        (poll, batch("poll-check", asked)),
    ]
}

#[test]
fn an_event_of_an_older_sender_means_the_same() {
    // X-008, X-009, X-010, X-015: what it says beyond the contract is not even kept, so nobody can
    // trust it; without IsInitStep, a step is none of the init.
    for (event, body) in older() {
        let body = body.to_string();
        assert_eq!(read(Some(event.message_type()), body.as_bytes()).as_ref(), Ok(&event));
        assert_eq!(read(None, body.as_bytes()), Ok(event), "the body names its type");
    }
}

#[test]
fn the_property_decides_which_event_it_is() {
    // A-195, X-008: neither the body's shape nor its messageType does.
    let body = r#"{"messageType":"poll-check","StepExecutionId":1042,"IsInitStep":true}"#;
    let check = StepCheck { is_init_step: true, ..step() };
    let read = |property| read(property, body.as_bytes());
    assert_eq!(read(Some("retry-check")), Ok(Event::RetryCheck(check)));
    assert_eq!(read(None), Ok(Event::PollCheck(check)));
    assert!(matches!(read(Some("batch-init")), Err(Rejection::Invalid(_))));
    assert!(matches!(read(Some("")), Err(Rejection::UnknownMessageType { .. })));
}
