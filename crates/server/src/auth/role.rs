//! What a role may do: one permission a route, one table for all.

/// A set of permissions with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// everything, tokens and workflows included
    Admin,
    /// runs the installation: every job, dead letters, overrides
    Operator,
    /// sends commands and follows its jobs
    Client,
    /// reads
    Viewer,
    /// leases directives and reports on them
    Worker,
}

/// What a route needs. Each route names exactly one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permission {
    /// send a command, or submit a job
    SubmitCommands,
    /// see jobs, their steps, history and events
    ReadJobs,
    /// stop a job
    CancelJobs,
    /// pause, resume, retry, override steps, open gates
    OperateJobs,
    /// lease directives and report on them
    Work,
    /// see workflows, and check a document without storing it
    ReadWorkflows,
    /// store workflows
    PublishWorkflows,
    /// see runbooks, batches and their members
    ReadBatches,
    /// store runbooks, switch their automation, make batches, and say who belongs to them
    ManageBatches,
    /// advance, stop, pause, resume and move batches, and act on their members
    OperateBatches,
    /// grant credits to workspaces, and agree on their policies
    ManageWorkspaces,
    /// make, change, switch and fire triggers of a workspace
    ManageTriggers,
    /// say who is told of events
    ManageSubscriptions,
    /// see dead letters
    ReadDeadLetters,
    /// replay and discard dead letters
    SettleDeadLetters,
    /// make, list and revoke tokens
    ManageTokens,
    /// see metrics, and how the instances are
    ReadMetrics,
    /// see the schema of the store, and bring it up to date
    MigrateStore,
    /// see what the API and its documents look like
    ReadSchemas,
}

impl Role {
    /// Every role.
    pub const ALL: [Self; 5] =
        [Self::Admin, Self::Operator, Self::Client, Self::Viewer, Self::Worker];

    /// The word stored and shown.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::Operator => "operator",
            Self::Client => "client",
            Self::Viewer => "viewer",
            Self::Worker => "worker",
        }
    }

    /// The role of a stored word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.word() == word)
    }

    /// Whether the role may do this. Whatever is not listed is refused.
    #[must_use]
    pub fn has(self, permission: Permission) -> bool {
        use Permission as P;
        match self {
            Self::Admin => true,
            Self::Operator => matches!(
                permission,
                P::SubmitCommands
                    | P::ReadJobs
                    | P::CancelJobs
                    | P::OperateJobs
                    | P::ReadWorkflows
                    | P::ReadBatches
                    | P::OperateBatches
                    | P::ManageTriggers
                    | P::ManageSubscriptions
                    | P::ReadDeadLetters
                    | P::SettleDeadLetters
                    | P::ReadMetrics
                    | P::ReadSchemas
            ),
            Self::Client => matches!(
                permission,
                P::SubmitCommands
                    | P::ReadJobs
                    | P::CancelJobs
                    | P::ReadWorkflows
                    | P::ReadBatches
                    | P::ManageTriggers
                    | P::ReadSchemas
            ),
            Self::Viewer => matches!(
                permission,
                P::ReadJobs
                    | P::ReadWorkflows
                    | P::ReadBatches
                    | P::ReadDeadLetters
                    | P::ReadMetrics
                    | P::ReadSchemas
            ),
            Self::Worker => matches!(permission, P::Work | P::ReadBatches | P::ReadSchemas),
        }
    }
}

impl Permission {
    /// The word shown in errors and documents.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::SubmitCommands => "submit_commands",
            Self::ReadJobs => "read_jobs",
            Self::CancelJobs => "cancel_jobs",
            Self::OperateJobs => "operate_jobs",
            Self::Work => "work",
            Self::ReadWorkflows => "read_workflows",
            Self::PublishWorkflows => "publish_workflows",
            Self::ReadBatches => "read_batches",
            Self::ManageBatches => "manage_batches",
            Self::OperateBatches => "operate_batches",
            Self::ManageWorkspaces => "manage_workspaces",
            Self::ManageTriggers => "manage_triggers",
            Self::ManageSubscriptions => "manage_subscriptions",
            Self::ReadDeadLetters => "read_dead_letters",
            Self::SettleDeadLetters => "settle_dead_letters",
            Self::ManageTokens => "manage_tokens",
            Self::ReadMetrics => "read_metrics",
            Self::MigrateStore => "migrate_store",
            Self::ReadSchemas => "read_schemas",
        }
    }
}
