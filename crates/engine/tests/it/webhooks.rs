//! Who asked to be told is told.
