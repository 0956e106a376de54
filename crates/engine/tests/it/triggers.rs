//! Triggers: what makes jobs without being asked each time.

mod asked;
mod crashes;
mod downtime;
mod files;
mod hooks;
mod instances;
mod overlap;
mod postgres;
mod schedules;
mod world;
