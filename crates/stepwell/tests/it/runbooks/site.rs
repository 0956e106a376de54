//! A server with a runbook, and workers who greet.

use std::path::PathBuf;
use std::process::Stdio;

use serde_json::Value;

use crate::program::{Ended, Running, Server, run};

/// Two phases, an init, a rollback and something for members who left.
pub(super) const HELLO: &str = r#"name: hello
data_source: {type: csv, connection: MEMBERS_CSV, primary_key: Mail, batch_time_column: Start}
init:
  - {name: open, worker_id: greeters, function: Open, params: {Batch: "{{_batch_id}}"}}
phases:
  - name: greet
    offset: T-1h
    steps:
      - name: say-hello
        worker_id: greeters
        function: Greet
        params: {To: "{{Mail}}"}
        on_failure: undo
  - name: part
    offset: T-0
    steps:
      - {name: say-bye, worker_id: greeters, function: Bye, params: {To: "{{Mail}}"}}
rollbacks:
  undo:
    - {name: say-sorry, worker_id: greeters, function: Sorry, params: {To: "{{Mail}}"}}
on_member_removed:
  - {name: forget, worker_id: greeters, function: Forget, params: {To: "{{Mail}}"}}
"#;

/// Three members.
pub(super) const WAVE: &str = "Mail\nann@example.com\nbob@example.com\ncat@example.com\n";

/// A server on which the runbook is published.
pub(super) struct Site {
    pub(super) server: Server,
}

impl Site {
    pub(super) fn new() -> Self {
        Self::publishing(Server::start())
    }

    /// A site whose runbook finds its members in a list.
    pub(super) fn with_source(list: &str) -> Self {
        let home = tempfile::tempdir().expect("there is room for a directory");
        let source = home.path().join("source.csv");
        std::fs::write(&source, list).expect("there is room for a file");
        Self::publishing(Server::start_knowing(home, &[], &[("MEMBERS_CSV", &source)]))
    }

    fn publishing(server: Server) -> Self {
        let site = Self { server };
        let path = site.file("hello.yaml", HELLO);
        site.run(&["runbook", "publish", &path]).with_code(0);
        site
    }

    /// Runs the program as a client.
    pub(super) fn run(&self, arguments: &[&str]) -> Ended {
        run(&mut self.server.client(arguments))
    }

    /// Runs the program as a client, and takes its JSON.
    #[track_caller]
    pub(super) fn json(&self, arguments: &[&str]) -> Value {
        self.server.json(arguments)
    }

    /// Writes a file; answers its name, which the program understands where it runs.
    pub(super) fn file(&self, name: &str, text: &str) -> String {
        std::fs::write(self.path(name), text).expect("there is room for a file");
        name.to_owned()
    }

    /// A path beside the data of the server.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.server.home.path().join(name)
    }

    /// Makes a batch of the three; answers its number.
    #[track_caller]
    pub(super) fn batch(&self) -> String {
        let list = self.file("wave.csv", WAVE);
        self.json(&["batch", "create", "hello", &list])["id"].to_string()
    }

    /// A worker who greets everybody, but fails for bob.
    pub(super) fn worker(&self) -> Running {
        let token = self.server.token_of("worker");
        let script = "if grep -q bob; then echo 'nobody answers' >&2; exit 1; else echo '{}'; fi";
        let arguments =
            ["worker", "exec", "--pool", "greeters", "--token", &token, "--", "sh", "-c", script];
        let mut command = self.server.client(&arguments);
        Running::spawn(command.stdout(Stdio::null()).stderr(Stdio::null()))
    }

    /// The member with this key.
    #[track_caller]
    pub(super) fn member(&self, batch: &str, key: &str) -> Value {
        self.json(&["batch", "members", batch, "--key", key])["items"][0].clone()
    }
}

/// The words of a text without those that differ from one time to the next: moments, how far they
/// are away, and numbers of tokens.
pub(super) fn steadied(text: &str) -> String {
    let is_steady = |word: &&str| {
        let is_day = word.len() == 10 && word.matches('-').count() == 2;
        let is_time = word.len() == 9 && word.ends_with('Z') && word.contains(':');
        let is_around = matches!(*word, "·" | "now" | "ago" | "in") || word.starts_with("(swl_");
        !(is_day || is_time || is_around || is_length(word))
    };
    let line = |line: &str| line.split_whitespace().filter(is_steady).collect::<Vec<_>>().join(" ");
    text.lines().map(|text| format!("{}\n", line(text))).collect()
}

/// Such as `2s`, `1m30s` or `31d`.
fn is_length(word: &str) -> bool {
    word.len() > 1
        && word.starts_with(|c: char| c.is_ascii_digit())
        && word.ends_with(['s', 'm', 'h', 'd'])
        && word.chars().all(|c| c.is_ascii_digit() || "smhd".contains(c))
}
