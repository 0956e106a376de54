//! The program under test, and a server of it.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

/// Longer than anything here takes, on a machine that has other things to do.
const PATIENCE: Duration = Duration::from_secs(60);

/// The program, with nothing of this machine's settings.
pub(crate) fn program(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stepwell"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("STEPWELL_") {
            command.env_remove(name);
        }
    }
    command.env_remove("XDG_DATA_HOME").env_remove("XDG_CONFIG_HOME");
    command.env("HOME", home).env("NO_COLOR", "1").env("COLUMNS", "100");
    command.current_dir(home).stdin(Stdio::null());
    command
}

/// How a run of the program ended.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    /// What it wrote as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}\n{}\n{}", self.stdout, self.stderr))
    }

    /// The same, but it must have ended with this code.
    #[track_caller]
    pub(crate) fn with_code(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "stdout:\n{}stderr:\n{}", self.stdout, self.stderr);
        self
    }
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("the program writes UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("the program writes UTF-8"),
        }
    }
}

/// Runs the program to its end.
pub(crate) fn run(command: &mut Command) -> Ended {
    command.output().expect("the program starts").into()
}

/// A server of the program in a directory of its own.
pub(crate) struct Server {
    child: Child,
    pub(crate) url: String,
    pub(crate) home: TempDir,
    pub(crate) token: String,
}

impl Server {
    /// A server that has just started for the first time.
    pub(crate) fn start() -> Self {
        let home = tempfile::tempdir().expect("there is room for a directory");
        Self::start_in(home)
    }

    /// A server on the data that a former one has left in this directory, or on none.
    pub(crate) fn start_in(home: TempDir) -> Self {
        Self::start_with(home, &[])
    }

    /// The same, with more settings.
    pub(crate) fn start_with(home: TempDir, settings: &[&str]) -> Self {
        Self::start_knowing(home, settings, &[])
    }

    /// The same, with variables of its environment too.
    pub(crate) fn start_knowing(
        home: TempDir,
        settings: &[&str],
        variables: &[(&str, &Path)],
    ) -> Self {
        let data = home.path().join("data");
        let mut child = program(home.path())
            .envs(variables.iter().copied())
            .args(["serve", "--output", "json", "--listen", "127.0.0.1:0", "--log-filter", "warn"])
            .arg("--data")
            .arg(&data)
            .args(settings)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let line = first_line(child.stdout.take().expect("it is piped"));
        let listening: Value = serde_json::from_str(&line).expect("the first line says where");
        let url = listening["url"].as_str().expect("a URL").to_owned();
        let token = std::fs::read_to_string(data.join("admin-token")).expect("the first token");
        Self { child, url, home, token: token.trim().to_owned() }
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.home.path().join("data")
    }

    /// The program as a client of this server.
    pub(crate) fn client(&self, arguments: &[&str]) -> Command {
        let mut command = program(self.home.path());
        command.env("STEPWELL_SERVER", &self.url).env("STEPWELL_TOKEN", &self.token);
        command.args(arguments);
        command
    }

    /// Runs the program as a client of this server, and takes its JSON.
    #[track_caller]
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let ended = run(self.client(arguments).args(["--output", "json"]));
        ended.with_code(0).json()
    }

    /// Publishes a workflow of one step for each pool.
    #[track_caller]
    pub(crate) fn publish(&self, source: &str) {
        let path = self.home.path().join("workflow.yaml");
        std::fs::write(&path, source).expect("there is room for a file");
        run(self.client(&["workflow", "publish"]).arg(&path)).with_code(0);
    }

    /// Submits a command and answers its job.
    #[track_caller]
    pub(crate) fn submit(&self, request_type: &str, payload: &str) -> String {
        let answer = self.json(&[
            "command",
            "submit",
            "--tenant",
            "acme",
            "--type",
            request_type,
            "--input-ref",
            "test://in",
            "--output-ref",
            "test://out",
            "--payload",
            payload,
        ]);
        answer["jobId"].as_str().expect("a job").to_owned()
    }

    /// Waits until a job has ended; answers how.
    #[track_caller]
    pub(crate) fn wait_for(&self, job: &str) -> Ended {
        run(&mut self.client(&["job", "watch", job]))
    }

    /// A token of a role.
    #[track_caller]
    pub(crate) fn token_of(&self, role: &str) -> String {
        let answer = self.json(&["token", "create", "--name", role, "--role", role]);
        answer["token"].as_str().expect("a token").to_owned()
    }

    /// Sends a signal to the server and waits for its end.
    pub(crate) fn end_by(mut self, signal: &str) -> (ExitStatus, TempDir) {
        kill(&self.child, signal);
        let status = wait(&mut self.child);
        let home = std::mem::replace(&mut self.home, tempfile::tempdir().expect("room"));
        (status, home)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A process that is ended with its test.
pub(crate) struct Running(pub(crate) Child);

impl Running {
    pub(crate) fn spawn(command: &mut Command) -> Self {
        Self(command.spawn().expect("the program starts"))
    }

    /// Sends a signal and waits for the end.
    pub(crate) fn end_by(mut self, signal: &str) -> Ended {
        kill(&self.0, signal);
        let status = wait(&mut self.0);
        let text = |stream: Option<&mut dyn Read>| {
            let mut text = String::new();
            stream.map(|stream| stream.read_to_string(&mut text));
            text
        };
        let stdout = text(self.0.stdout.as_mut().map(|it| it as &mut dyn Read));
        let stderr = text(self.0.stderr.as_mut().map(|it| it as &mut dyn Read));
        Ended { code: status.code(), stdout, stderr }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Sends a signal to a process by its number.
pub(crate) fn kill(child: &Child, signal: &str) {
    let sent = Command::new("kill").args(["-s", signal, &child.id().to_string()]).status();
    assert!(sent.expect("kill is installed").success(), "the process is gone already");
}

/// The first line that a stream gives, waited for in a thread so that a silent program fails the test.
pub(crate) fn first_line(stream: impl Read + Send + 'static) -> String {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let mut stream = BufReader::new(stream);
        let _ = stream.read_line(&mut line);
        let _ = sender.send(line);
        // Whatever else it says is taken, or it would wait for a reader some day.
        let _ = std::io::copy(&mut stream, &mut std::io::sink());
    });
    receiver.recv_timeout(PATIENCE).expect("the program says something")
}

/// The stderr of a process up to a line that holds `text`.
pub(crate) fn line_with(stderr: &mut BufReader<ChildStderr>, text: &str) -> String {
    let mut line = String::new();
    while !line.contains(text) {
        line.clear();
        let count = stderr.read_line(&mut line).expect("it can be read");
        assert!(count > 0, "the program ended without saying {text:?}");
    }
    line
}

/// Waits for the end; a process that does not end is killed, and the test fails by its status.
fn wait(child: &mut Child) -> ExitStatus {
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
