//! What tests need from the machine. For tests and developer tasks only: no part of the program names it.

pub mod postgres;
