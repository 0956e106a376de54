//! When it happens: intake, decide, commit, publish, wake.
