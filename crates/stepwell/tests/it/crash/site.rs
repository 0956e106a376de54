//! A server that is started again and again on the same data and at the same address.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::program::{kill, program};

/// Longer than a start or a stop takes on a machine that has other things to do.
const PATIENCE: Duration = Duration::from_secs(30);

/// A place for one server: its data, its address, its log.
pub(crate) struct Site {
    home: TempDir,
    /// where the server keeps its data, as it is told
    data: PathBuf,
    /// the same directory as this process sees it
    data_seen: PathBuf,
    /// a program that starts the server in surroundings of its own, with its arguments
    wrapper: Vec<OsString>,
    settings: Vec<String>,
    /// where it listens, once the first start has chosen a port
    listen: String,
    child: Option<Child>,
}

impl Site {
    /// A place where no server has run yet.
    pub(crate) fn new(settings: &[&str]) -> Self {
        let home = tempfile::tempdir().expect("there is room for a directory");
        let data = home.path().join("data");
        Self {
            home,
            data_seen: data.clone(),
            data,
            wrapper: Vec::new(),
            settings: settings.iter().map(|setting| (*setting).to_owned()).collect(),
            listen: "127.0.0.1:0".to_owned(),
            child: None,
        }
    }

    /// The same, with the data in a directory that only the server sees under this name.
    pub(crate) fn with_data(mut self, data: &Path, seen: &Path) -> Self {
        self.data = data.to_owned();
        self.data_seen = seen.to_owned();
        self
    }

    /// From the next start on, the server is started by another program.
    pub(crate) fn start_under<S: Into<OsString>>(&mut self, wrapper: impl IntoIterator<Item = S>) {
        self.wrapper = wrapper.into_iter().map(Into::into).collect();
    }

    /// A copy of the database of a server that has stopped.
    ///
    /// SQLite follows links in a path by their text, and the way into another process's mounts is a
    /// link without one; so the file is brought here.
    pub(crate) fn copy_database(&self) -> PathBuf {
        let copy = self.home.path().join("copy.db");
        std::fs::copy(self.data_seen.join("stepwell.db"), &copy).expect("there is room for a copy");
        let log = self.data_seen.join("stepwell.db-wal");
        assert!(!log.exists(), "a clean stop leaves nothing in the write-ahead log");
        copy
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.listen)
    }

    /// Starts the server and waits until it says that it listens.
    pub(crate) fn start(&mut self) {
        let said = self.spawn();
        let line = said.recv_timeout(PATIENCE).expect("the server says where it listens");
        let listening: Value = serde_json::from_str(&line)
            .unwrap_or_else(|_| panic!("not a start: {line:?}\n{}", self.log()));
        let url = listening["url"].as_str().expect("a URL");
        self.listen = url.strip_prefix("http://").expect("plain HTTP").to_owned();
    }

    /// Starts the server and waits for nothing; its first line comes by the channel.
    pub(crate) fn spawn(&mut self) -> mpsc::Receiver<String> {
        assert!(self.child.is_none(), "one server at a time");
        let mut command = program(self.home.path());
        command.args(["serve", "--output", "json", "--log-filter", "warn"]);
        command.args(["--listen", &self.listen]).arg("--data").arg(&self.data);
        command.args(&self.settings);
        let mut command = wrapped(&command, &self.wrapper);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(self.log_file());
        let mut child = command.spawn().expect("the program starts");
        let mut stdout = BufReader::new(child.stdout.take().expect("it is piped"));
        let (sender, said) = mpsc::channel();
        std::thread::spawn(move || {
            let mut line = String::new();
            let _ = stdout.read_line(&mut line);
            let _ = sender.send(line);
        });
        self.child = Some(child);
        said
    }

    /// The token that the first start has made.
    pub(crate) fn token(&self) -> String {
        let path = self.data_seen.join("admin-token");
        std::fs::read_to_string(path).expect("the first token").trim().to_owned()
    }

    /// Kills the server as a power cut would: no signal handler runs.
    pub(crate) fn kill(&mut self) {
        let mut child = self.child.take().expect("a server runs");
        child.kill().expect("it is ours");
        let status = child.wait().expect("it can be waited for");
        assert_eq!(status.code(), None, "it ended by itself before it was killed:\n{}", self.log());
    }

    /// Whether the server has ended by itself; then another may be started.
    pub(crate) fn has_ended(&mut self) -> Option<ExitStatus> {
        let status = self.child.as_mut()?.try_wait().expect("it is ours")?;
        self.child = None;
        Some(status)
    }

    /// Sends a signal that does not end it.
    pub(crate) fn signal(&self, signal: &str) {
        kill(self.child.as_ref().expect("a server runs"), signal);
    }

    /// Asks the server to stop, and waits until it has.
    pub(crate) fn stop(&mut self) -> ExitStatus {
        self.signal("TERM");
        self.wait()
    }

    /// Waits until the server has ended; one that does not end is killed, and its status tells.
    pub(crate) fn wait(&mut self) -> ExitStatus {
        let mut child = self.child.take().expect("a server runs");
        let id = child.id().to_string();
        let (ended, watch) = mpsc::channel::<()>();
        std::thread::spawn(move || {
            if watch.recv_timeout(PATIENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
                let _ = Command::new("kill").args(["-s", "KILL", &id]).status();
            }
        });
        let status = child.wait().expect("it can be waited for");
        drop(ended);
        status
    }

    /// What all servers of this place have logged.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.log_path()).unwrap_or_default()
    }

    fn log_path(&self) -> PathBuf {
        self.home.path().join("server.log")
    }

    fn log_file(&self) -> File {
        let mut options = OpenOptions::new();
        options.append(true).create(true).open(self.log_path()).expect("there is room for a log")
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
        if std::thread::panicking() {
            let log = self.log();
            let lines: Vec<&str> = log.lines().collect();
            let last = &lines[lines.len().saturating_sub(40)..];
            eprintln!("the end of the server's log:\n{}", last.join("\n"));
        }
    }
}

/// The same command, started by another program.
fn wrapped(command: &Command, wrapper: &[OsString]) -> Command {
    let mut words = wrapper.to_vec();
    words.push(command.get_program().to_owned());
    words.extend(command.get_args().map(Into::into));
    let mut outer = Command::new(&words[0]);
    outer.args(&words[1..]);
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => outer.env(name, value),
            None => outer.env_remove(name),
        };
    }
    outer.current_dir(command.get_current_dir().expect("the program has a home"));
    outer
}
