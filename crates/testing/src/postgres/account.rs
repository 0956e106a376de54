//! Under which account PostgreSQL runs: it refuses to run as root.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use super::Skipped;

/// The account that Debian's package creates.
const NAME: &str = "postgres";

/// The account to use.
#[derive(Clone, Debug)]
pub(super) enum Account {
    /// the one that runs the tests
    Own,
    /// another, because the tests run as root
    Other { user: u32, group: u32 },
}

impl Account {
    /// The account to use here.
    pub(super) fn choose() -> Result<Self, Skipped> {
        if number(&["-u"])? != 0 {
            return Ok(Self::Own);
        }
        let absent = |_| {
            Skipped::because(format!(
                "PostgreSQL does not run as root, and there is no user {NAME} to run it; create one, \
                 or run the tests as another user"
            ))
        };
        let user = number(&["-u", NAME]).map_err(absent)?;
        let group = number(&["-g", NAME]).map_err(absent)?;
        Ok(Self::Other { user, group })
    }

    /// A program that runs under this account.
    pub(super) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        match self {
            Self::Own => Command::new(program),
            Self::Other { user, group } => {
                let mut command = Command::new("setpriv");
                command.arg(format!("--reuid={user}")).arg(format!("--regid={group}"));
                command.arg("--clear-groups").arg(program);
                command
            }
        }
    }

    /// Gives a file or a folder to this account.
    pub(super) fn own(&self, path: &Path) -> std::io::Result<()> {
        match self {
            Self::Own => Ok(()),
            Self::Other { user, group } => {
                std::os::unix::fs::chown(path, Some(*user), Some(*group))
            }
        }
    }
}

/// What `id` says.
fn number(arguments: &[&str]) -> Result<u32, Skipped> {
    let output = Command::new("id").args(arguments).output().ok();
    let text = output.and_then(|output| String::from_utf8(output.stdout).ok()).unwrap_or_default();
    text.trim()
        .parse()
        .map_err(|_| Skipped::because(format!("`id {}` did not answer", arguments.join(" "))))
}
