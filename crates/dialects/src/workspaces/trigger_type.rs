//! What made a job (C-007).

use serde::{Serialize, Serializer};

/// What made a job; anything else is refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum TriggerType {
    /// somebody asked
    #[default]
    Manual,
    /// its time had come
    Schedule,
    /// a signed request arrived
    Webhook,
    /// a file appeared
    FileDrop,
}

impl TriggerType {
    /// Every type with its word, for readers.
    pub const WORDS: [(&'static str, Self); 4] = [
        ("manual", Self::Manual),
        ("schedule", Self::Schedule),
        ("webhook", Self::Webhook),
        ("file_drop", Self::FileDrop),
    ];

    /// The word stored and shown.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Manual => "manual",
            Self::Schedule => "schedule",
            Self::Webhook => "webhook",
            Self::FileDrop => "file_drop",
        }
    }

    /// The type of a stored word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        Self::WORDS.into_iter().find(|(known, _)| *known == word).map(|(_, found)| found)
    }
}

impl Serialize for TriggerType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}
