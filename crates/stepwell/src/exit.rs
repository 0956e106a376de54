//! Exit codes: what a script may rely on. `docs/cli.md` lists them for people.

use std::process::ExitCode;

/// How the program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// What was asked for was done; a job that was watched succeeded.
    Ok = 0,
    /// It went wrong, or the job that was watched failed.
    Failure = 1,
    /// The command line or the configuration makes no sense.
    Usage = 2,
    /// What was named does not exist.
    NotFound = 3,
    /// The state of things does not allow it, or the job that was watched was cancelled.
    Refused = 4,
    /// The server is away or busy; the same command may succeed later.
    Unavailable = 5,
    /// The token is missing, unknown, or may not do this.
    Denied = 6,
    /// An input is not valid; correct it.
    Invalid = 7,
    /// A second interrupt cut it short.
    Interrupted = 130,
}

impl Exit {
    /// Every code with its meaning, for the help text.
    pub(crate) const ALL: [(Self, &'static str); 9] = [
        (Self::Ok, "done; a watched job succeeded"),
        (Self::Failure, "it went wrong; a watched job failed"),
        (Self::Usage, "the command line or the configuration makes no sense"),
        (Self::NotFound, "what was named does not exist"),
        (Self::Refused, "the state of things does not allow it; a watched job was cancelled"),
        (Self::Unavailable, "the server is away or busy; try again"),
        (Self::Denied, "the token is missing, unknown, or may not do this"),
        (Self::Invalid, "an input is not valid"),
        (Self::Interrupted, "interrupted"),
    ];

    /// The number that the shell sees.
    pub(crate) fn number(self) -> u8 {
        self as u8
    }

    /// The code for an HTTP status of the server that is not a success.
    pub(crate) fn of_status(status: u16) -> Self {
        match status {
            404 | 410 => Self::NotFound,
            402 | 409 | 412 => Self::Refused,
            401 | 403 => Self::Denied,
            400 | 413 | 415 | 422 => Self::Invalid,
            408 | 425 | 429 | 500..=599 => Self::Unavailable,
            _ => Self::Failure,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.number())
    }
}
