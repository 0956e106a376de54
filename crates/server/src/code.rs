//! The stable words for what went wrong. Each has a page in `docs/errors`.

use axum::http::StatusCode;

macro_rules! codes {
    ($( $(#[doc = $doc:literal])+ $name:ident = $word:literal, $status:ident, $title:literal, $next:literal; )+) => {
        /// What went wrong, as a word that never changes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code { $( $(#[doc = $doc])+ $name, )+ }

        impl Code {
            /// Every code, in the order of its status.
            pub const ALL: &'static [Self] = &[ $( Self::$name, )+ ];

            /// The word on the wire.
            #[must_use]
            pub fn word(self) -> &'static str {
                match self { $( Self::$name => $word, )+ }
            }

            /// The HTTP status.
            #[must_use]
            pub fn status(self) -> StatusCode {
                match self { $( Self::$name => StatusCode::$status, )+ }
            }

            /// The same for people, the same every time.
            #[must_use]
            pub fn title(self) -> &'static str {
                match self { $( Self::$name => $title, )+ }
            }

            /// What the caller can do next, unless the occasion says more.
            #[must_use]
            pub fn next(self) -> &'static str {
                match self { $( Self::$name => $next, )+ }
            }
        }
    };
}

codes! {
    /// The body cannot be read.
    MalformedRequest = "malformed_request", BAD_REQUEST, "The body cannot be read",
        "Correct the body where `details` points, and send it again.";
    /// A query parameter, header or path is not what it must be.
    MalformedParameter = "malformed_parameter", BAD_REQUEST, "A parameter cannot be used",
        "Correct the parameters that `details` names.";
    /// Header and envelope name different idempotency keys.
    KeyConflict = "idempotency_key_conflict", BAD_REQUEST, "Two different idempotency keys",
        "Send the key in the `Idempotency-Key` header or in the body, or the same in both.";
    /// The list of members is not sound.
    InvalidMembers = "invalid_members", BAD_REQUEST, "The list of members is not valid",
        "Correct the lines that `details` names; GET /api/runbooks/{name}/template is a list to fill in.";
    /// A result of a worker is not what it must be.
    InvalidResult = "invalid_result", BAD_REQUEST, "The result cannot be used",
        "Correct the fields that `details` names, and send all results again; none was taken.";
    /// There was no token.
    Unauthenticated = "unauthenticated", UNAUTHORIZED, "A token is needed",
        "Send `Authorization: Bearer <token>`; an administrator makes tokens with POST /v1/tokens.";
    /// The token is unknown, expired or revoked.
    InvalidToken = "invalid_token", UNAUTHORIZED, "The token is not valid",
        "Ask an administrator for a new token.";
    /// The token of a callback was not made for this attempt, or has expired.
    InvalidCallbackToken = "invalid_callback_token", UNAUTHORIZED, "The callback token is not valid",
        "Call the URL in the directive's `callback_urls` unchanged, and repeat the directive's ids in the body.";
    /// A webhook is not signed with the trigger's secret, or was signed too long ago.
    InvalidSignature = "invalid_signature", UNAUTHORIZED, "The signature is not valid",
        "Sign the body with the trigger's secret as Standard Webhooks describes, and send it at once.";
    /// The account of the workspace does not cover the estimate.
    CreditsShort = "credits_short", PAYMENT_REQUIRED, "The workspace has too few credits",
        "Grant credits to the workspace, or send a lower `credits_estimate`; no job was made.";
    /// The role may not do this.
    Forbidden = "forbidden", FORBIDDEN, "The role does not allow this",
        "Use a token whose role may do this; docs/access.md has the table.";
    /// The token belongs to another tenant than the request.
    TenantMismatch = "tenant_mismatch", FORBIDDEN, "The tenant is not the token's",
        "Name the tenant that the token, or the job, belongs to.";
    /// Only a token for all tenants may do this.
    AllTenantsRequired = "all_tenants_required", FORBIDDEN, "A token for all tenants is needed",
        "Use a token that is not bound to a tenant.";
    /// There is nothing at this address.
    RouteNotFound = "route_not_found", NOT_FOUND, "There is nothing at this address",
        "See /docs or /openapi.json for what there is.";
    /// There is no such job, or it is another tenant's.
    JobNotFound = "job_not_found", NOT_FOUND, "There is no such job",
        "Check the job id; GET /v1/jobs lists the jobs that the token may see.";
    /// The job has no such step.
    UnknownStep = "unknown_step", NOT_FOUND, "The job has no such step",
        "GET /v1/jobs/{job}/steps lists the steps.";
    /// The job has no such gate.
    UnknownGate = "unknown_gate", NOT_FOUND, "The job has no such gate",
        "GET /v1/jobs/{job}/explain names the gates that are waited for.";
    /// There is no such workflow, or no such version.
    WorkflowNotFound = "workflow_not_found", NOT_FOUND, "There is no such workflow",
        "GET /v1/workflows lists the workflows.";
    /// There is no such dead letter, or it is another tenant's.
    DeadLetterNotFound = "dead_letter_not_found", NOT_FOUND, "There is no such dead letter",
        "GET /v1/dead-letters lists the dead letters that the token may see.";
    /// There is no such workspace for the caller: it is another tenant's.
    WorkspaceNotFound = "workspace_not_found", NOT_FOUND, "There is no such workspace",
        "Name the workspace that the token belongs to.";
    /// The workspace has no such trigger.
    TriggerNotFound = "trigger_not_found", NOT_FOUND, "There is no such trigger",
        "GET /v1/workspaces/{workspace_id}/triggers lists the triggers of the workspace.";
    /// There is no such subscription, or it is another tenant's.
    SubscriptionNotFound = "subscription_not_found", NOT_FOUND, "There is no such subscription",
        "GET /v1/subscriptions lists the subscriptions that the token may see.";
    /// There is no such token, or it is another tenant's.
    TokenNotFound = "token_not_found", NOT_FOUND, "There is no such token",
        "GET /v1/tokens lists the tokens.";
    /// There is no such runbook, no such version of it, or no version that is in use.
    RunbookNotFound = "runbook_not_found", NOT_FOUND, "There is no such runbook",
        "GET /api/runbooks lists the runbooks in use; /versions lists every version of one.";
    /// There is no such batch, or it is another tenant's.
    BatchNotFound = "batch_not_found", NOT_FOUND, "There is no such batch",
        "GET /api/batches lists the batches that the token may see.";
    /// The batch has no such member.
    MemberNotFound = "member_not_found", NOT_FOUND, "The batch has no such member",
        "GET /api/batches/{batch}/members lists the members.";
    /// The batch has no such phase.
    UnknownPhase = "unknown_phase", NOT_FOUND, "The batch has no such phase",
        "GET /api/batches/{batch}/phases lists the phases.";
    /// The address takes other methods.
    MethodNotAllowed = "method_not_allowed", METHOD_NOT_ALLOWED, "The address takes other methods",
        "The `Allow` header lists the methods.";
    /// The body came too slowly.
    BodyTimeout = "body_timeout", REQUEST_TIMEOUT, "The body came too slowly",
        "Send the whole body within 30 seconds.";
    /// The run has ended, and what has ended never changes.
    RunEnded = "run_ended", CONFLICT, "The job has ended",
        "A job that failed or was cancelled can be taken up again with POST /v1/jobs/{job}:retry.";
    /// The step has ended, and what has ended never changes.
    StepEnded = "step_ended", CONFLICT, "The step has ended",
        "GET /v1/jobs/{job}/steps shows how it ended.";
    /// The report names an attempt that is not in force.
    StaleAttempt = "stale_attempt", CONFLICT, "The attempt is not in force",
        "Stop this attempt; the report was recorded and changes nothing.";
    /// The report names a lease that is not in force.
    StaleLease = "stale_lease", CONFLICT, "The lease is not in force",
        "Stop this attempt; the report was recorded and changes nothing.";
    /// No attempt of the step is under way.
    NotDispatched = "not_dispatched", CONFLICT, "No attempt is under way",
        "GET /v1/jobs/{job}/explain says what the step waits for.";
    /// The run has already started.
    AlreadyStarted = "already_started", CONFLICT, "The job has already started",
        "Nothing needs to be done.";
    /// Nothing may be changed while the run is being stopped.
    RunCancelling = "run_cancelling", CONFLICT, "The job is being cancelled",
        "Wait for its end, then take it up again with POST /v1/jobs/{job}:retry.";
    /// The run goes on, or succeeded: there is nothing to take up again.
    RunNotRetryable = "run_not_retryable", CONFLICT, "The job cannot be taken up again",
        "Only a job that failed or was cancelled can; cancel it first if it goes on.";
    /// The key was used for another request.
    KeyReused = "idempotency_key_reused", CONFLICT, "The idempotency key was used for another request",
        "Use a new key for a new request.";
    /// Somebody has already dealt with the dead letter.
    DeadLetterSettled = "dead_letter_settled", CONFLICT, "The dead letter is settled",
        "GET /v1/dead-letters?settled=true shows what became of it.";
    /// There is nothing to take up again in this dead letter.
    NotReplayable = "not_replayable", CONFLICT, "The dead letter cannot be replayed",
        "Correct the cause and discard the dead letter.";
    /// The trigger is switched off.
    TriggerDisabled = "trigger_disabled", CONFLICT, "The trigger is switched off",
        "Switch it on with POST /v1/workspaces/{workspace_id}/triggers/{name}:enable.";
    /// The batch has ended, and what has ended never changes.
    BatchEnded = "batch_ended", CONFLICT, "The batch has ended",
        "GET /api/batches/{batch} shows how it ended; make a new batch of those who are left.";
    /// The batch follows its timeline, and is not advanced by hand.
    BatchNotManual = "batch_not_manual", CONFLICT, "The batch follows its timeline",
        "Wait until the next phase is due, or move T-0 with POST /api/batches/{batch}/move.";
    /// A person moves the batch on, so it has no T-0 to move.
    BatchManual = "batch_manual", CONFLICT, "The batch has no T-0",
        "Move it on with POST /api/batches/{batch}/advance.";
    /// What was begun must end first.
    BatchUnderWay = "batch_under_way", CONFLICT, "Something is still under way",
        "GET /api/batches/{batch}/explain says what is waited for; advance again when it is over.";
    /// Every phase has begun.
    BatchNothingLeft = "batch_nothing_left", CONFLICT, "Every phase has begun",
        "Nothing needs to be done: the batch ends when its members do.";
    /// Phases run only in an active batch.
    BatchNotActive = "batch_not_active", CONFLICT, "The batch is not active yet",
        "Wait until its preparation is done; GET /api/batches/{batch}/explain says what is waited for.";
    /// Nothing begins in a paused batch.
    BatchPaused = "batch_paused", CONFLICT, "The batch is paused",
        "Resume it with POST /api/batches/{batch}/resume.";
    /// The data source says who the members of the batch are.
    BatchAutomated = "batch_automated", CONFLICT, "The members come from a data source",
        "Change them in the data source; the next pass brings the change.";
    /// The member has failed, and is no longer on its way.
    MemberFailed = "member_failed", CONFLICT, "The member has failed",
        "Retry it with POST /api/batches/{batch}/operate, or leave it as it is.";
    /// Members of the batch have these keys already.
    MemberKeysTaken = "member_keys_taken", CONFLICT, "Some members are there already",
        "Leave the members that `details` names out of the list.";
    /// Retention has deleted the job.
    JobDeleted = "job_deleted", GONE, "The job was deleted",
        "It had ended and its time of retention was over; only the fact remains.";
    /// Events after the place that was named are no longer kept.
    EventsMissed = "events_missed", GONE, "Some events are no longer kept",
        "Read on from the oldest that are kept, and look up the jobs in between.";
    /// The job or the trigger has changed since it was read.
    VersionMismatch = "version_mismatch", PRECONDITION_FAILED, "It has changed since it was read",
        "Read it again, and decide again with its new version.";
    /// The body is too large.
    BodyTooLarge = "body_too_large", PAYLOAD_TOO_LARGE, "The body is too large",
        "Keep large data elsewhere and pass a reference.";
    /// The body is not of a kind that is read here.
    UnsupportedMediaType = "unsupported_media_type", UNSUPPORTED_MEDIA_TYPE, "The kind of body is not read here",
        "Send the `Content-Type` that `detail` names.";
    /// The request was sent to a host name that is not ours.
    HostNotAllowed = "host_not_allowed", MISDIRECTED_REQUEST, "The host name is not served here",
        "Call it by localhost, or add the name to the served hosts in the configuration.";
    /// The body can be read, and is not what it must be.
    InvalidRequest = "invalid_request", UNPROCESSABLE_ENTITY, "The request is not valid",
        "Correct the fields that `details` names, and send it again.";
    /// The workflow document is not sound.
    InvalidWorkflow = "invalid_workflow", UNPROCESSABLE_ENTITY, "The workflow is not valid",
        "Correct the places that `details` names; GET /v1/schemas/workflow.json lets an editor help.";
    /// An event has a type that nobody here knows; it was kept as a dead letter.
    UnknownMessageType = "unknown_message_type", UNPROCESSABLE_ENTITY, "The type of the event is not known",
        "Send one of the types that `detail` names in the header `MessageType`.";
    /// A message of the queue names no job of the workspace, or is not what it must be; it was kept as
    /// a dead letter.
    PoisonMessage = "poison_message", UNPROCESSABLE_ENTITY, "The message cannot be used",
        "Delete the message from the queue: it is kept as a dead letter, and no job was touched.";
    /// The data source did not answer as it should.
    SourceFailed = "source_failed", FAILED_DEPENDENCY, "The data source did not answer",
        "Look at the data source, or correct the query of the runbook; nothing was written.";
    /// The tenant has as many open jobs as it may.
    TenantFull = "tenant_full", TOO_MANY_REQUESTS, "The tenant has too many open jobs",
        "Wait until some have ended, then send the same request again.";
    /// Too many live streams are open.
    TooManyStreams = "too_many_streams", TOO_MANY_REQUESTS, "Too many live streams are open",
        "Close some, or read GET /v1/jobs/{job}/history instead.";
    /// The program is at fault.
    Internal = "internal", INTERNAL_SERVER_ERROR, "Something went wrong here",
        "Report it with the `request_id`; the log has the cause.";
    /// The order could not be put in the queue.
    EnqueueFailed = "enqueue_failed", INTERNAL_SERVER_ERROR, "The job could not be enqueued",
        "Send the same request again, with the same `idempotency_key`; nothing was written.";
    /// More is asked than can be taken in.
    Busy = "busy", SERVICE_UNAVAILABLE, "More is asked than can be taken in",
        "Send the same request again after `Retry-After` seconds.";
    /// The store or the bus is away.
    Unavailable = "unavailable", SERVICE_UNAVAILABLE, "The store is away",
        "Send the same request again after `Retry-After` seconds; nothing was lost.";
    /// The process is stopping.
    Stopping = "stopping", SERVICE_UNAVAILABLE, "The process is stopping",
        "Send the same request again after `Retry-After` seconds, or to another instance.";
}

impl Code {
    /// The code of a refusal's word; refusals and codes share their words.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.word() == word)
    }
}
