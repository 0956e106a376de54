//! The PostgreSQL that tests are given.

mod postgres;
