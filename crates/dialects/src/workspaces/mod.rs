//! The workspaces dialect: jobs with attempts, dead letters, credits, retention and triggers.

pub mod schedule;
