//! What is true: definitions, the run state machine, decide, evolve, explain. Pure.
