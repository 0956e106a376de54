//! A file system of a few megabytes that can be filled and made read-only.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

/// A file system in memory. Only processes that enter its mount namespace see it, so a test that
/// dies leaves nothing mounted.
pub(super) struct SmallDisk {
    /// keeps the namespace alive, and does nothing else
    holder: Child,
    place: TempDir,
}

impl SmallDisk {
    /// Makes one, or says why that cannot be done here.
    pub(super) fn mount(megabytes: u32) -> Result<Self, String> {
        let place = tempfile::tempdir().map_err(|error| error.to_string())?;
        let script =
            format!("mount -t tmpfs -o size={megabytes}m tmpfs \"$0\" && echo mounted && exec cat");
        let mut holder = Command::new("unshare")
            .args(["--mount", "--propagation", "private", "sh", "-c", &script])
            .arg(place.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("unshare cannot be started: {error}"))?;
        let mut line = String::new();
        let stdout = holder.stdout.take().expect("it is piped");
        let _ = BufReader::new(stdout).read_line(&mut line);
        if line.trim() == "mounted" {
            return Ok(Self { holder, place });
        }
        let mut reason = String::new();
        let _ = holder.stderr.take().expect("it is piped").read_to_string(&mut reason);
        let _ = holder.wait();
        Err(format!("a file system cannot be mounted here: {}", reason.trim()))
    }

    /// What starts a program where the file system can be seen.
    pub(super) fn entrance(&self) -> Vec<String> {
        let holder = self.holder.id().to_string();
        ["nsenter", "--target", &holder, "--mount", "--"].map(str::to_owned).to_vec()
    }

    /// Its root, for programs that have entered.
    pub(super) fn inside(&self) -> &Path {
        self.place.path()
    }

    /// Its root, as this process reaches it.
    pub(super) fn outside(&self) -> PathBuf {
        let root = PathBuf::from(format!("/proc/{}/root", self.holder.id()));
        root.join(self.place.path().strip_prefix("/").expect("an absolute path"))
    }

    /// Fills it to the last byte.
    pub(super) fn fill(&self) {
        let mut filler = std::fs::File::create(self.filler()).expect("there is room for a name");
        for size in [64 * 1024, 4 * 1024, 1] {
            while filler.write_all(&vec![0; size]).is_ok() {}
        }
    }

    /// Gives the room back.
    pub(super) fn free(&self) {
        std::fs::remove_file(self.filler()).expect("it was filled");
    }

    fn filler(&self) -> PathBuf {
        self.outside().join("filler")
    }

    /// Lets nobody write any more.
    pub(super) fn make_read_only(&self) {
        let mut words = self.entrance();
        words.extend(["mount", "-o", "remount,ro"].map(str::to_owned));
        let done = Command::new(&words[0]).args(&words[1..]).arg(self.inside()).status();
        assert!(done.expect("nsenter is installed").success(), "it can be remounted");
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}
