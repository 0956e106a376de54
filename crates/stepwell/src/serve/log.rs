//! The log: lower-case events with fields, on standard error.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

use crate::config::Config;
use crate::failure::Failure;

/// Begins to log as the settings say.
pub(super) fn start(config: &Config) -> Result<(), Failure> {
    let filter = EnvFilter::try_new(config.text("log_filter")).map_err(|error| {
        Failure::usage(format!("log_filter is not valid: {error}")).next(
            "write a level such as info, or levels by module such as info,stepwell_engine=debug",
        )
    })?;
    let color = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(color)
        .with_target(false);
    // A second subscriber is refused, and the first one goes on.
    let _ = match config.text("log") {
        "json" => subscriber.json().flatten_event(true).try_init(),
        _ => subscriber.try_init(),
    };
    Ok(())
}
