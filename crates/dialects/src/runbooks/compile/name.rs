//! What the workflows of runbooks, their gates and their rollbacks are called.

/// Which of the workflows of a runbook is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sequence {
    /// the way of a member
    Member,
    /// what is done once for a batch
    Init,
    /// what is done for a member that left
    Removal,
}

/// A colon is in no name of a workflow document, so that these names are nobody else's.
const PREFIXES: [(Sequence, &str); 3] = [
    (Sequence::Member, "runbook-member:"),
    (Sequence::Init, "runbook-init:"),
    (Sequence::Removal, "runbook-removal:"),
];

/// Before the earlier versions of a chain. They stand before the name, because a name may hold any
/// mark that could end it.
const CHAIN: &str = "runbook-member@";

/// Where a workflow comes from. The version of the workflow is that of the runbook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin<'a> {
    /// which of the runbook's workflows it is
    pub sequence: Sequence,
    /// the name of the runbook
    pub runbook: &'a str,
    /// the versions that the member followed before, oldest first
    pub earlier: Vec<u32>,
}

impl Sequence {
    /// What the workflow is called among all workflows.
    #[must_use]
    pub fn workflow_name(self, runbook: &str) -> String {
        let prefix = PREFIXES.iter().find(|(sequence, _)| *sequence == self);
        format!("{}{runbook}", prefix.map_or("", |(_, prefix)| prefix))
    }

    /// What the way of a member is called that followed these versions before:
    /// `runbook-member@1,2:NAME`. Together with the newest version it says which steps there are.
    #[must_use]
    pub fn chain_name(runbook: &str, earlier: &[u32]) -> String {
        if earlier.is_empty() {
            return Self::Member.workflow_name(runbook);
        }
        let versions: Vec<String> = earlier.iter().map(u32::to_string).collect();
        format!("{CHAIN}{}:{runbook}", versions.join(","))
    }

    /// The runbook that a workflow was made from, and which of its workflows it is.
    #[must_use]
    pub fn of_workflow_name(name: &str) -> Option<Origin<'_>> {
        let alone = PREFIXES.iter().find_map(|(sequence, prefix)| {
            let runbook = name.strip_prefix(prefix)?;
            Some(Origin { sequence: *sequence, runbook, earlier: Vec::new() })
        });
        alone.or_else(|| {
            let (versions, runbook) = name.strip_prefix(CHAIN)?.split_once(':')?;
            let earlier = versions.split(',').map(version).collect::<Option<_>>()?;
            Some(Origin { sequence: Self::Member, runbook, earlier })
        })
    }
}

/// What a phase's gate, or a rollback, is called: versions stand side by side in a member's run.
#[must_use]
pub fn versioned(name: &str, version: u32) -> String {
    format!("{name}@{version}")
}

/// The phase or the rollback that is called so, and its version.
#[must_use]
pub fn of_versioned(name: &str) -> Option<(&str, u32)> {
    let (name, number) = name.rsplit_once('@')?;
    Some((name, version(number)?))
}

/// The phase and the name of a step that is called so in a member's run.
///
/// A name may hold either mark, a version holds digits only: the first place where both fit counts.
#[must_use]
pub fn of_step_id(id: &str) -> Option<(&str, &str)> {
    id.match_indices('/').find_map(|(end, _)| {
        let (phase, _) = of_versioned(&id[..end])?;
        Some((phase, &id[end + 1..]))
    })
}

/// A version as it is written: no sign, no leading zero.
fn version(text: &str) -> Option<u32> {
    text.parse().ok().filter(|number: &u32| *number > 0 && number.to_string() == text)
}
