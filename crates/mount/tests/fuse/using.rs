//! A mount as the tests use it: from outside of its process.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::hex;
use crate::host::{ANSWER, FOLDER, HURRY};

/// How long something may take that is sure to come.
pub(crate) const LONG: Duration = Duration::from_secs(30);

/// A mount in a process of its own.
pub(crate) struct Host {
    folder: PathBuf,
    child: Child,
    commands: ChildStdin,
    answers: BufReader<ChildStdout>,
    /// The mount stays when this goes.
    leave: bool,
}

impl Host {
    /// Mounts below `folder`.
    pub(crate) fn start(folder: &Path) -> Self {
        Self::try_start(folder, Command::new(std::env::current_exe().unwrap())).unwrap()
    }

    /// The same with `program` before or instead of this one; the reason if the mount is refused.
    pub(crate) fn try_start(folder: &Path, mut program: Command) -> Result<Self, String> {
        let mut child = program
            .args(["host::serve", "--exact", "--ignored", "--nocapture", "--test-threads=1"])
            .env(FOLDER, folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let commands = child.stdin.take().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap());
        let mut host = Self { folder: folder.to_owned(), child, commands, answers, leave: false };
        match host.answer() {
            Some(answer) if answer == "mounted" => Ok(host),
            Some(answer) => {
                host.child.wait().unwrap();
                // What is mounted there is not its own.
                host.leave = true;
                Err(answer)
            }
            None => panic!("the host ended: {:?}", host.child.wait()),
        }
    }

    pub(crate) fn point(&self) -> PathBuf {
        self.folder.join("point")
    }

    /// The contact's tree.
    pub(crate) fn tree(&self) -> PathBuf {
        self.point().join("bob/tree")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.tree().join(name)
    }

    /// Tells the host, and waits for what it answers.
    pub(crate) fn tell(&mut self, command: &str) -> String {
        writeln!(self.commands, "{command}").unwrap();
        self.answer().unwrap_or_else(|| panic!("the host ended over: {command}"))
    }

    /// The contact has a file of `size` bytes.
    pub(crate) fn file(&mut self, name: &[u8], size: usize, seed: u8) {
        assert_eq!(self.tell(&format!("file {} {size} {seed}", hex(name))), "ok");
    }

    pub(crate) fn block(&mut self, name: &str) {
        assert_eq!(self.tell(&format!("block {}", hex(name.as_bytes()))), "ok");
    }

    pub(crate) fn unblock(&mut self, name: &str) {
        assert_eq!(self.tell(&format!("unblock {}", hex(name.as_bytes()))), "ok");
    }

    /// `how` is `in-place` or `replaced`.
    pub(crate) fn change(&mut self, name: &str, size: usize, seed: u8, how: &str) {
        assert_eq!(self.tell(&format!("change {} {size} {seed} {how}", hex(name.as_bytes()))), "ok");
    }

    pub(crate) fn remove(&mut self, name: &str) {
        assert_eq!(self.tell(&format!("remove {}", hex(name.as_bytes()))), "ok");
    }

    /// Unmounts; the process numbers of those who used the mount still.
    pub(crate) fn stop(mut self) -> Vec<u32> {
        let pids = self.end("stop");
        assert!(!is_mounted(&self.point()));
        pids
    }

    /// Begins to unmount, and to mount again, and waits for neither.
    pub(crate) fn hurry(mut self) {
        fs::write(self.folder.join(HURRY), "").unwrap();
        self.end("hurry");
        assert!(!is_mounted(&self.point()));
    }

    /// Asks the process to unmount, by `command`, and to end.
    pub(crate) fn end(&mut self, command: &str) -> Vec<u32> {
        let answer = self.tell(command);
        let pids = answer.strip_prefix("stopped").unwrap_or_else(|| panic!("{answer}"));
        let pids = pids.split_whitespace().map(|pid| pid.parse().unwrap()).collect();
        assert!(self.child.wait().unwrap().success());
        pids
    }

    /// Ends the process as a crash would; the dead mount stays.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.leave = true;
    }

    fn answer(&mut self) -> Option<String> {
        loop {
            let mut line = String::new();
            if self.answers.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            // The runner's own line may stand before it.
            if let Some((_, answer)) = line.split_once(ANSWER) {
                return Some(answer.trim_end().to_owned());
            }
        }
    }
}

impl Drop for Host {
    /// A failed test leaves no process and no mount.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if !self.leave && is_mounted(&self.point()) {
            unmount(&self.point(), true);
        }
    }
}

/// Whether anything is mounted at `point`.
pub(crate) fn is_mounted(point: &Path) -> bool {
    let wanted = point.to_str().unwrap();
    let table = fs::read_to_string("/proc/self/mountinfo").unwrap();
    table.lines().any(|line| line.split(' ').nth(4) == Some(wanted))
}

/// Unmounts as a user does it.
pub(crate) fn unmount(point: &Path, lazily: bool) {
    let flag = if lazily { "-uz" } else { "-u" };
    assert!(run(Command::new("fusermount3").arg(flag).arg(point)).status.success());
}

/// What a program says.
pub(crate) fn run(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// The same, of a program that must succeed.
pub(crate) fn said(command: &mut Command) -> String {
    let output = run(command);
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Waits until something is so.
pub(crate) fn until(what: &str, mut so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !so() {
        assert!(began.elapsed() < LONG, "it does not come: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A program that is ended with the test.
pub(crate) struct Running(pub(crate) Child);

impl Running {
    pub(crate) fn start(command: &mut Command) -> Self {
        Self(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.0.try_wait().unwrap().is_some()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
