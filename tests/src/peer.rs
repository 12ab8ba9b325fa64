//! A relay and peers, each its own process with its own config directory.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;
use std::time::Duration;

use rustix::mount::{UnmountFlags, unmount};
use serde_json::Value;
use tempfile::TempDir;

use crate::program::{Program, binary};
use crate::wait_for;

/// How long two paired peers may take to connect on loopback, on a loaded machine.
const CONNECT_WITHIN: Duration = Duration::from_secs(30);

/// The port on which a relay listens unless told otherwise.
const PORT: u16 = 7480;

/// A relay of the test's own.
#[derive(Debug)]
pub struct Relay {
    program: Option<Program>,
    address: SocketAddr,
}

impl Relay {
    /// Starts it on free ports of loopback.
    pub fn start() -> Self {
        // The bridge and the metrics page sit on the two ports above: try until three in a row are free.
        for _ in 0..20 {
            let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()));
            if let Some(program) = Self::run(address) {
                return Self { program: Some(program), address };
            }
        }
        panic!("no three free ports in a row");
    }

    /// Starts it on the usual ports of `host`, which nothing else uses.
    pub fn start_at(host: IpAddr) -> Self {
        let address = SocketAddr::from((host, PORT));
        Self { program: Some(Self::run(address).expect("the relay starts")), address }
    }

    fn run(address: SocketAddr) -> Option<Program> {
        let mut command = Command::new(binary("farhold-relay"));
        command.args(["--json", "--listen", &address.to_string()]);
        let mut program = Program::start(command);
        let line = program.line(Duration::from_secs(20))?;
        line.contains("\"ready\":true").then_some(program)
    }

    /// `host:port` of its gRPC.
    pub fn address(&self) -> String {
        self.address.to_string()
    }

    /// The running program.
    pub fn program(&self) -> &Program {
        self.program.as_ref().expect("the relay runs")
    }

    /// Kills it, as a crash would.
    pub fn kill(&mut self) {
        self.program.take().expect("the relay runs").kill();
    }

    /// Starts it again on the same ports.
    pub fn start_again(&mut self) {
        self.program = Some(wait_for("the relay's ports are free again", Duration::from_secs(10), || {
            Self::run(self.address)
        }));
    }

    /// A number off its metrics page.
    pub fn metric(&self, name: &str) -> f64 {
        let url = format!("http://{}:{}/metrics", self.address.ip(), self.address.port() + 2);
        let page = output(Command::new("curl").args(["-sf", "--max-time", "5", &url]));
        page.lines()
            .filter(|line| line.starts_with(name))
            .filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok())
            .sum()
    }
}

fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("its address").port()
}

/// What a peer is started with.
#[derive(Debug, Clone, Copy, Default)]
pub struct PeerOptions {
    /// Mounts its drive.
    pub mount: bool,
    /// Never connects directly.
    pub relay_only: bool,
}

/// An engine with its own config directory, under a temp directory that also holds what it shares.
#[derive(Debug)]
pub struct Peer {
    program: Option<Program>,
    relay: String,
    options: PeerOptions,
    home: TempDir,
}

impl Peer {
    /// Starts one that has nothing yet.
    pub fn start(relay: &Relay, options: PeerOptions) -> Self {
        Self::start_with(relay.address(), options)
    }

    /// Starts one that has nothing yet, with the relay at `host:port`.
    pub fn start_with(relay: String, options: PeerOptions) -> Self {
        let home = tempfile::tempdir().expect("a temp dir");
        let mut peer = Self { program: None, relay, options, home };
        peer.start_again();
        peer
    }

    /// Starts the engine on what its config directory holds.
    pub fn start_again(&mut self) {
        let mut command = Command::new(binary("farhold"));
        command.args(["up", "--json", "--relay", &self.relay, "--config-dir"]).arg(self.config());
        if self.options.mount {
            command.arg("--mount").arg(self.mount());
        } else {
            command.arg("--no-mount");
        }
        if self.options.relay_only {
            command.arg("--relay-only");
        }
        let mut program = Program::start(command);
        program.ready();
        self.program = Some(program);
    }

    /// Folder for what the test shares or stores.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// Its config directory.
    pub fn config(&self) -> PathBuf {
        self.home.path().join("config")
    }

    /// Where its drive is mounted.
    pub fn mount(&self) -> PathBuf {
        self.home.path().join("drive")
    }

    /// The running engine.
    pub fn program(&mut self) -> &mut Program {
        self.program.as_mut().expect("the engine runs")
    }

    /// Kills the engine, as a crash would.
    pub fn kill(&mut self) {
        self.program.take().expect("the engine runs").kill();
    }

    /// Asks the engine to end; it must leave with success and without its mount.
    pub fn stop(&mut self) {
        let status = self.program.take().expect("the engine runs").stop();
        assert!(status.success(), "{status}");
        assert!(!is_mounted(&self.mount()), "the mount was left behind");
    }

    /// Runs a command on this engine.
    pub fn command(&self, arguments: &[&str]) -> Output {
        Command::new(binary("farhold"))
            .args(arguments)
            .arg("--json")
            .arg("--config-dir")
            .arg(self.config())
            .output()
            .expect("the command runs")
    }

    /// Runs a command that must succeed, and takes its answer.
    pub fn ask(&self, arguments: &[&str]) -> Value {
        let output = self.command(arguments);
        assert!(
            output.status.success(),
            "{arguments:?}: {}\n{}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
        let text = String::from_utf8(output.stdout).expect("text");
        if text.trim().is_empty() { Value::Null } else { serde_json::from_str(&text).expect("JSON") }
    }

    /// Its code.
    pub fn code(&self) -> String {
        self.ask(&["code"])["code"].as_str().expect("a code").to_owned()
    }

    /// What `status` says of the contact `name`.
    pub fn contact(&self, name: &str) -> Value {
        let status = self.ask(&["status"]);
        let contacts = status["contacts"].as_array().expect("contacts").clone();
        contacts.into_iter().find(|contact| contact["name"] == name).unwrap_or(Value::Null)
    }

    /// State of the session with the contact `name`, such as `connected`.
    pub fn session(&self, name: &str) -> String {
        self.contact(name)["session"]["state"].as_str().unwrap_or("none").to_owned()
    }

    /// Waits until the session with `name` is in `state`.
    pub fn wait_session(&self, name: &str, state: &str, within: Duration) {
        wait_for(&format!("{name} is {state}"), within, || (self.session(name) == state).then_some(()));
    }

    /// Waits until the folder `path` below the drive is listed.
    pub fn wait_path(&self, path: &str) -> PathBuf {
        let path = self.mount().join(path);
        wait_for(&format!("{} appears", path.display()), Duration::from_secs(20), || {
            succeeds(Command::new("stat").arg(&path)).then_some(())
        });
        path
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        drop(self.program.take());
        if is_mounted(&self.mount()) {
            let _ = unmount(self.mount(), UnmountFlags::DETACH);
            if !thread::panicking() {
                panic!("{} was left mounted", self.mount().display());
            }
        }
    }
}

/// Saves each as the other's contact ("anna" and "ben") and waits until they are connected.
pub fn pair(anna: &Peer, ben: &Peer) {
    anna.ask(&["contact", "add", "ben", &ben.code()]);
    ben.ask(&["contact", "add", "anna", &anna.code()]);
    anna.ask(&["connect", "ben", "--wait", "30"]);
    anna.wait_session("ben", "connected", CONNECT_WITHIN);
    ben.wait_session("anna", "connected", CONNECT_WITHIN);
}

/// Whether something is mounted at `path`.
pub fn is_mounted(path: &Path) -> bool {
    let mounts = std::fs::read_to_string("/proc/self/mounts").expect("the list of mounts");
    mounts.lines().any(|line| line.split(' ').nth(1) == path.to_str())
}

/// Runs a tool that must succeed within 60 s, and takes its output.
pub fn output(command: &mut Command) -> String {
    let program = command.get_program().to_owned();
    let mut timed = Command::new("timeout");
    timed.arg("60").arg(&program).args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        timed.current_dir(folder);
    }
    let output = timed.output().expect("the tool runs");
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Whether a tool succeeds within 60 s.
pub fn succeeds(command: &mut Command) -> bool {
    let mut timed = Command::new("timeout");
    timed.arg("60").arg(command.get_program()).args(command.get_args());
    timed.output().expect("the tool runs").status.success()
}
