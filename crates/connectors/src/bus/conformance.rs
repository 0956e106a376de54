//! What every bus must do, as functions that panic when it does not.
