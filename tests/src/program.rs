//! Programs under test: started, watched and ended by their process id.

use std::env;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// How long a program may take to say that it is ready.
const READY_WITHIN: Duration = Duration::from_secs(30);
/// How long a program may take to end once asked.
const END_WITHIN: Duration = Duration::from_secs(15);

/// Where cargo put the program `name`: in the profile's folder, as this program, or one above, if this is a test.
pub fn binary(name: &str) -> PathBuf {
    let own = env::current_exe().expect("the program's own path");
    let folder = own.parent().expect("target/<profile> or target/<profile>/deps");
    let folder = if folder.ends_with("deps") { folder.parent().expect("target/<profile>") } else { folder };
    let path = folder.join(name);
    assert!(path.exists(), "{} is missing: build it with `cargo build --bins`", path.display());
    path
}

/// A running program; killed when dropped, which tests should not need.
#[derive(Debug)]
pub struct Program {
    name: String,
    child: Child,
    lines: Receiver<String>,
    errors: Receiver<String>,
    said: String,
}

impl Program {
    /// Starts it with its output watched.
    pub fn start(mut command: Command) -> Self {
        let name = format!("{command:?}");
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {name}: {error}"));
        let lines = watch(child.stdout.take().expect("stdout is piped"));
        let errors = watch(child.stderr.take().expect("stderr is piped"));
        Self { name, child, lines, errors, said: String::new() }
    }

    /// Waits for the one JSON line that says `"ready": true`.
    pub fn ready(&mut self) -> Value {
        let line = self.lines.recv_timeout(READY_WITHIN).unwrap_or_else(|_| {
            let errors = self.errors();
            panic!("{} did not get ready:\n{errors}", self.name)
        });
        let value: Value = serde_json::from_str(&line).expect("a line of JSON");
        assert_eq!(value["ready"], true, "{line}");
        value
    }

    /// The next line of its output within `within`.
    pub fn line(&mut self, within: Duration) -> Option<String> {
        self.lines.recv_timeout(within).ok()
    }

    /// What it wrote to stderr so far.
    pub fn errors(&mut self) -> String {
        while let Ok(line) = self.errors.try_recv() {
            self.said.push_str(&line);
            self.said.push('\n');
        }
        self.said.clone()
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("the process is there");
    }

    /// Ends it at once, as a crash would.
    pub fn kill(mut self) {
        self.child.kill().expect("the process is there");
        self.child.wait().expect("its exit status");
    }

    /// Asks it to end, and waits until it did.
    pub fn stop(mut self) -> ExitStatus {
        self.signal(Signal::TERM);
        self.wait(END_WITHIN)
    }

    /// Waits for its own end.
    pub fn wait(&mut self, within: Duration) -> ExitStatus {
        let end = Instant::now() + within;
        loop {
            if let Some(status) = self.child.try_wait().expect("its exit status") {
                return status;
            }
            if Instant::now() > end {
                let errors = self.errors();
                panic!("{} did not end within {within:?}:\n{errors}", self.name);
            }
            thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            drop(self.child.kill());
            drop(self.child.wait());
        }
        if thread::panicking() {
            let errors = self.errors();
            eprintln!("--- {} said:\n{errors}", self.name);
        }
    }
}

fn watch(output: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    receiver
}
