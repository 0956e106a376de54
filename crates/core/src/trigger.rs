//! What makes a trigger fire, and so what made a job.

use serde::{Deserialize, Serialize};

/// What makes a trigger fire; there is nothing else that makes a job (C-007).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TriggerKind {
    /// somebody asks
    #[default]
    Manual,
    /// its time has come
    Schedule,
    /// a signed request arrives
    Webhook,
    /// a file appears
    FileDrop,
}

impl TriggerKind {
    /// Every kind with its word, for readers.
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

    /// The kind of a stored word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        Self::WORDS.into_iter().find(|(known, _)| *known == word).map(|(_, kind)| kind)
    }
}
