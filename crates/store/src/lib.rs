//! How it is kept: one transaction a group of decisions.
