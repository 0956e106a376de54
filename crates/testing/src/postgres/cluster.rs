//! A PostgreSQL cluster that lives as long as whoever started it.
//!
//! It is durable as a real one: `fsync` stays on, because tests stop it as a power cut would.

use std::fmt::Write as _;
use std::io::Read;
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::account::Account;
use super::binaries::{self, Binaries};
use super::{Server, Skipped};

const USER: &str = "stepwell";

/// How often a port is tried that somebody else may take at the same moment.
const TRIES: u32 = 5;

/// A PostgreSQL that this process has started, and that ends with it.
#[derive(Debug)]
pub struct Cluster {
    place: Place,
    server: Server,
    _guardian: Guardian,
}

/// How a cluster is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// sessions are ended, everything is written out
    Orderly,
    /// as by a power cut: the next start recovers from the log
    AtOnce,
}

/// Where a cluster lies and what runs it.
#[derive(Debug)]
struct Place {
    binaries: Binaries,
    account: Account,
    folder: PathBuf,
}

/// A process that ends a cluster and deletes its folder when this process has ended, be it by a panic
/// or a kill: it waits for the end of its input, which nobody but this process holds open.
#[derive(Debug)]
struct Guardian(Child);

impl Cluster {
    /// Creates a cluster in a temporary folder and starts it on a free port of this machine.
    ///
    /// # Errors
    /// With the reason why it cannot be had here.
    pub fn start() -> Result<Self, Skipped> {
        let place = Place::new()?;
        // From here on the guardian cleans up, whatever fails.
        let guardian = Guardian::of(&place.folder)?;
        let password = password()?;
        place.initialize(&password)?;
        let port = place.start_on_free_port()?;
        let server = Server::at(&format!("postgres://{USER}:{password}@127.0.0.1:{port}"))?;
        Ok(Self { place, server, _guardian: guardian })
    }

    /// For connecting to it. The URL stays the same when it is restarted.
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// The process id of the postmaster, if it runs.
    pub fn pid(&self) -> Option<u32> {
        let file = std::fs::read_to_string(self.place.data().join("postmaster.pid")).ok()?;
        file.lines().next()?.trim().parse().ok()
    }

    /// Stops it.
    #[track_caller]
    pub fn stop(&self, how: Stop) {
        let mode = match how {
            Stop::Orderly => "fast",
            Stop::AtOnce => "immediate",
        };
        if let Err(why) = self.place.control(&["stop", "-m", mode]) {
            panic!("PostgreSQL does not stop: {why}");
        }
    }

    /// Starts it again, on its port.
    #[track_caller]
    pub fn start_again(&self) {
        if let Err(why) = self.place.control(&["start"]) {
            panic!("PostgreSQL does not start again: {why}");
        }
    }

    /// Stops it and starts it again.
    #[track_caller]
    pub fn restart(&self, how: Stop) {
        self.stop(how);
        self.start_again();
    }
}

impl Place {
    fn new() -> Result<Self, Skipped> {
        let binaries = binaries::find()?;
        let account = Account::choose()?;
        let folder = tempfile::Builder::new().prefix("stepwell-postgres-").tempdir();
        let folder = folder.map_err(|error| Skipped::because(format!("no folder: {error}")))?;
        account
            .own(folder.path())
            .map_err(|error| Skipped::because(format!("cannot give the folder away: {error}")))?;
        // The guardian deletes it: a drop does not happen when the process is killed.
        Ok(Self { binaries, account, folder: folder.keep() })
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    fn initialize(&self, password: &str) -> Result<(), Skipped> {
        let file = self.folder.join("password");
        let written = std::fs::write(&file, password).and_then(|()| self.account.own(&file));
        written.map_err(|error| Skipped::because(format!("cannot write a file: {error}")))?;
        let mut initdb = self.account.command(self.binaries.path("initdb"));
        initdb.arg("-D").arg(self.data()).arg("--pwfile").arg(&file);
        // In the clear is enough on the loopback device, and cheaper than SCRAM in a debug build.
        initdb.args(["--username", USER, "--auth=password", "--locale=C", "--encoding=UTF8"]);
        // Only the new, still empty cluster is not synced; the server itself syncs.
        initdb.arg("--no-sync");
        run(&mut initdb, &self.folder).map_err(|why| Skipped::because(format!("initdb: {why}")))
    }

    fn start_on_free_port(&self) -> Result<u16, Skipped> {
        let mut reason = String::new();
        for _ in 0..TRIES {
            let port =
                free_port().map_err(|error| Skipped::because(format!("no port: {error}")))?;
            let file = self.data().join("postgresql.auto.conf");
            std::fs::write(file, self.settings(port))
                .map_err(|error| Skipped::because(format!("cannot write a file: {error}")))?;
            match self.control(&["start"]) {
                Ok(()) => return Ok(port),
                Err(why) => reason = why,
            }
        }
        Err(Skipped::because(format!("PostgreSQL does not start: {reason}")))
    }

    fn settings(&self, port: u16) -> String {
        let mut text = format!(
            "listen_addresses = '127.0.0.1'\n\
             port = {port}\n\
             unix_socket_directories = ''\n\
             max_connections = 100\n\
             shared_buffers = '64MB'\n"
        );
        let library = "pg_stat_statements";
        if self.binaries.has_library(library) {
            writeln!(text, "shared_preload_libraries = '{library}'").expect("text takes text");
        }
        text
    }

    fn control(&self, arguments: &[&str]) -> Result<(), String> {
        let mut control = self.account.command(self.binaries.path("pg_ctl"));
        control.arg("-D").arg(self.data()).arg("-l").arg(self.folder.join("log"));
        control.args(["--wait", "--silent"]).args(arguments);
        run(&mut control, &self.folder).map_err(|why| {
            let log = std::fs::read_to_string(self.folder.join("log")).unwrap_or_default();
            let last: Vec<&str> = log.lines().rev().take(3).collect();
            format!("{why}; its log ends with {:?}", last.into_iter().rev().collect::<Vec<_>>())
        })
    }
}

impl Guardian {
    fn of(folder: &Path) -> Result<Self, Skipped> {
        const SCRIPT: &str = r#"
            cat >/dev/null
            pid=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null)
            [ -n "$pid" ] && kill -s QUIT "$pid" 2>/dev/null
            for _ in $(seq 200); do
                kill -s 0 "$pid" 2>/dev/null || break
                sleep 0.05
            done
            rm -rf "$1"
        "#;
        let mut guardian = Command::new("sh");
        guardian.args(["-c", SCRIPT, "guardian"]).arg(folder);
        guardian.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // A Ctrl-C at the terminal goes to the whole group; the guardian must outlive it.
        guardian.process_group(0).current_dir("/");
        guardian.spawn().map(Self).map_err(|error| {
            let _ = std::fs::remove_dir_all(folder);
            Skipped::because(format!("cannot run sh: {error}"))
        })
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// Runs a program to its end in a folder that its account may enter.
fn run(command: &mut Command, folder: &Path) -> Result<(), String> {
    command.current_dir(folder).stdin(Stdio::null());
    let output = command.output().map_err(|error| format!("cannot be run: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
}

fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

/// Other users of this machine can reach the port, too.
fn password() -> Result<String, Skipped> {
    let mut bytes = [0; 16];
    let mut source = std::fs::File::open("/dev/urandom");
    let read = source.as_mut().map(|source| source.read_exact(&mut bytes));
    match read {
        Ok(Ok(())) => Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect()),
        _ => Err(Skipped::because("/dev/urandom cannot be read")),
    }
}
