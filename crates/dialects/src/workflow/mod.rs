//! Workflow documents: YAML in, a sound graph of steps out.
//!
//! [`read`] turns a document into a [`stepwell_core::definition::Workflow`] or into all of its
//! problems, each with line, column and path. [`schema`] is the same format as JSON Schema, for
//! editors. [`Checks`] holds the compiled schemas of one workflow, to judge the input of its runs;
//! [`check_input`] judges the lists in it alone.
//! `docs/workflow.md` is the reference for authors.

mod checks;
mod graph;
mod input;
mod items;
mod policy;
mod read;
mod schema;
mod step;
mod variables;

pub use self::checks::Checks;
pub use self::input::check_input;
pub(crate) use self::read::REQUEST_TYPE;
pub use self::read::read;
pub use self::schema::schema;
pub use self::variables::SPECIALS;
