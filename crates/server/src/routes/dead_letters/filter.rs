//! Which dead letters are meant: the same filter in a query and in a body.

use serde_json::Value;
use stepwell_core::id::Tenant;
use stepwell_core::run::Dialect;
use stepwell_core::time::Timestamp;
use stepwell_dialects::fields::{Field, Fields};
use stepwell_dialects::moment;
use stepwell_dialects::problem::quoted;
use stepwell_store::DeadLetterFilter;

use super::{PAGE_DEFAULT, PAGE_MAX};
use crate::auth::Caller;
use crate::error::ApiError;
use crate::extract::{DIALECTS, Parameters};
use crate::job_id;

/// The parameters of a query that choose dead letters.
pub(super) const NAMES: [&str; 11] = [
    "workflow",
    "tenant",
    "dialect",
    "reason",
    "error_code",
    "from",
    "until",
    "job_id",
    "settled",
    "limit",
    "cursor",
];

const MOMENT: &str = "a moment such as 2025-03-10T00:00:00Z";

/// The filter of a list.
pub(super) fn of_query(
    parameters: &Parameters,
    caller: &Caller,
) -> Result<DeadLetterFilter, ApiError> {
    let text = |name| parameters.one(name).map(|text| text.map(str::to_owned));
    let moment = |name| parameters.read(name, MOMENT, read_moment);
    let words = DIALECTS.map(|(word, _)| word).join(", ");
    let settled = parameters.read("settled", "true or false", |text| text.parse().ok())?;
    let filter = DeadLetterFilter {
        tenant: parameters.one("tenant")?.map(Tenant::new),
        dialect: parameters.read("dialect", &format!("one of {words}"), Dialect::of_word)?,
        workflow: text("workflow")?,
        reason: text("reason")?,
        error_code: text("error_code")?,
        from: moment("from")?,
        until: moment("until")?,
        run: parameters.read("job_id", "the id of a job", job_id::read)?,
        id: None,
        with_settled: settled.unwrap_or(false),
        before: parameters.read("cursor", "the next_cursor before", |text| text.parse().ok())?,
        limit: parameters.limit(PAGE_DEFAULT, PAGE_MAX)?,
    };
    within(filter, caller)
}

/// The filter of an act on many: those that nobody has settled.
pub(super) fn of_body(fields: &mut Fields<'_, Value>) -> DeadLetterFilter {
    let limit = fields.optional_integer("limit", 1..=PAGE_MAX).unwrap_or(PAGE_DEFAULT);
    // What is refused stays where it is: without a place to go on from, it would stand in the way of all
    // that is older.
    let before = fields.optional_integer("before", 1..=i64::MAX);
    let none = || DeadLetterFilter { limit, before, ..DeadLetterFilter::default() };
    let Some(mut fields) = fields.optional_fields("filter") else { return none() };
    let tenant = fields.optional_str("tenant").map(Tenant::new);
    let dialect = fields.optional("dialect").and_then(|field| field.word(&DIALECTS));
    let mut text = |name| fields.optional_str(name).map(str::to_owned);
    let (workflow, reason, error_code) = (text("workflow"), text("reason"), text("error_code"));
    let (from, until) = (moment_of(fields.optional("from")), moment_of(fields.optional("until")));
    fields.finish();
    DeadLetterFilter { tenant, dialect, workflow, reason, error_code, from, until, ..none() }
}

/// The filter, kept within what exists for the caller.
///
/// # Errors
/// When it names a tenant that is not the caller's.
pub(super) fn within(
    filter: DeadLetterFilter,
    caller: &Caller,
) -> Result<DeadLetterFilter, ApiError> {
    if let Some(tenant) = &filter.tenant {
        caller.acts_for(tenant.as_str())?;
    }
    Ok(DeadLetterFilter { tenant: filter.tenant.or_else(|| caller.tenant.clone()), ..filter })
}

fn moment_of(field: Option<Field<'_, Value>>) -> Option<Timestamp> {
    let field = field?;
    let text = field.text()?;
    let moment = read_moment(text);
    if moment.is_none() {
        let problem = field.problem("bad_moment", format!("{} is no moment", quoted(text)));
        field.report(problem.help(format!("write {MOMENT}")));
    }
    moment
}

fn read_moment(text: &str) -> Option<Timestamp> {
    moment::parse(text).map(|moment| moment.0)
}
