//! What README.md shows, run as it stands there.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::program::{Server, program};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The first block of commands below a heading.
fn block(heading: &str) -> String {
    let text = std::fs::read_to_string(root().join("README.md")).expect("README.md is there");
    let (_, below) = text.split_once(heading).expect("README.md has the heading");
    let (_, block) = below.split_once("```sh\n").expect("commands follow it");
    block.split_once("```").expect("they end").0.to_owned()
}

/// A shell with all it has started, which ends with its test.
struct Shell(Child);

impl Drop for Shell {
    fn drop(&mut self) {
        let group = format!("-{}", self.0.id());
        let _ = Command::new("kill").args(["-s", "KILL", "--", &group]).status();
        let _ = self.0.wait();
    }
}

// X-127: the tour of workspaces in README.md does what it says, line by line; its last line follows
// what happens until somebody ends it.
#[test]
fn workspaces_in_five_minutes_is_what_it_says() {
    let home = tempfile::tempdir().unwrap();
    let server = Server::start_with(home, &["--charge-credits"]);
    let mut command = Command::new("bash");
    for (name, value) in program(server.home.path()).get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let here = Path::new(env!("CARGO_BIN_EXE_stepwell")).parent().unwrap();
    let path = std::env::join_paths(
        std::iter::once(here.to_owned())
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    command.env("PATH", path.unwrap()).env("STEPWELL_SERVER", &server.url);
    command.env("STEPWELL_TOKEN", &server.token).current_dir(root()).process_group(0);
    let script = format!("set -euo pipefail\n{}", block("## Workspaces in five minutes"));
    command.args(["-c", &script]).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut shell = Shell(command.spawn().expect("bash is installed"));
    let mut said = String::new();
    for line in BufReader::new(shell.0.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        said.push_str(&line);
        said.push('\n');
        if line.contains("workflow_run_completed") {
            break;
        }
    }
    let told = [
        "workflow \"nightly-report\", version 1",
        "balance    100",
        "\ncompleted\n",
        "every-night  schedule",
        "ON THE CLOCK OF Europe/Berlin",
        "first month",
        "released",
        "workflow_run_completed",
    ];
    for text in told {
        assert!(said.contains(text), "{text:?} in:\n{said}");
    }
}
