//! The environment: the only place where connections are described.

use super::error::SourceError;

/// Looks up an environment variable; replaceable, so that no test needs the real environment.
pub type Environment<'e> = dyn Fn(&str) -> Option<String> + 'e;

/// Our own settings begin so. A runbook that could name them would let its author read our store, or
/// send our secrets to a host of their choice.
const OWN_PREFIX: &str = "STEPWELL_";

/// The variables of one source.
pub(super) struct Variables<'e> {
    connection: &'e str,
    environment: &'e Environment<'e>,
}

impl<'e> Variables<'e> {
    pub(super) fn new(connection: &'e str, environment: &'e Environment<'e>) -> Self {
        Self { connection, environment }
    }

    /// The name of the variable that describes the connection.
    pub(super) fn name(&self) -> &'e str {
        self.connection
    }

    /// What describes the connection.
    pub(super) fn connection(&self) -> Result<String, SourceError> {
        self.named(self.connection)
    }

    /// What a variable holds that the runbook names.
    pub(super) fn named(&self, name: &str) -> Result<String, SourceError> {
        if name.to_ascii_uppercase().starts_with(OWN_PREFIX) {
            let reason = "it is a setting of this program, not of a source; use another name";
            return Err(SourceError::BadVariable { name: name.to_owned(), reason: reason.into() });
        }
        self.needed(name)
    }

    /// What a variable holds that goes with the connection: `<connection>_<suffix>`.
    pub(super) fn beside(&self, suffix: &str) -> Option<String> {
        self.optional(&format!("{}_{suffix}", self.connection))
    }

    /// What a variable holds that is needed.
    pub(super) fn needed(&self, name: &str) -> Result<String, SourceError> {
        self.optional(name).ok_or_else(|| SourceError::MissingVariable { name: name.to_owned() })
    }

    /// What a variable holds, if it is set and not empty.
    pub(super) fn optional(&self, name: &str) -> Option<String> {
        let value = (self.environment)(name)?;
        let value = value.trim();
        (!value.is_empty()).then(|| value.to_owned())
    }

    /// The connection cannot be used as it is described.
    pub(super) fn bad(&self, reason: impl Into<String>) -> SourceError {
        SourceError::BadVariable { name: self.connection.to_owned(), reason: reason.into() }
    }
}
