//! Network namespaces without a name.

use std::fs::File;
use std::io::{self, Write};
use std::panic;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;

use anyhow::{Context, Result, ensure};
use nix::sched::{CloneFlags, setns, unshare};
use rustix::fd::AsRawFd;

/// A network namespace; it ends with this value and the last program that runs in it.
#[derive(Debug)]
pub struct Space {
    namespace: File,
}

impl Space {
    /// An empty one with its loopback up. Needs root.
    pub fn new() -> Result<Self> {
        let namespace = thread::scope(|scope| {
            let made = scope.spawn(|| -> io::Result<File> {
                unshare(CloneFlags::CLONE_NEWNET)?;
                File::open("/proc/thread-self/ns/net")
            });
            made.join().unwrap_or_else(|panic| panic::resume_unwind(panic))
        });
        let space = Self { namespace: namespace.context("cannot make a network namespace: is this root?")? };
        space.ip("link set lo up")?;
        Ok(space)
    }

    /// Runs `job` inside: sockets, devices and programs that it makes belong to the namespace for good. The file
    /// system, with its mounts and Unix sockets, is the caller's.
    pub fn run<R: Send>(&self, job: impl FnOnce() -> R + Send) -> R {
        thread::scope(|scope| {
            let inside = scope.spawn(|| {
                setns(&self.namespace, CloneFlags::CLONE_NEWNET).expect("the namespace is there");
                job()
            });
            inside.join().unwrap_or_else(|panic| panic::resume_unwind(panic))
        })
    }

    /// Runs `ip` with these arguments, parted by spaces.
    pub fn ip(&self, arguments: &str) -> Result<()> {
        let mut command = Command::new("ip");
        command.args(arguments.split(' '));
        self.tool(command, "").with_context(|| format!("ip {arguments}"))
    }

    /// Loads a set of nftables rules.
    pub fn nft(&self, rules: &str) -> Result<()> {
        let mut command = Command::new("nft");
        command.args(["-f", "-"]);
        self.tool(command, rules).context("nft")
    }

    /// Sets a kernel setting of this namespace, such as `net/ipv4/ip_forward`.
    pub fn set(&self, name: &str, value: &str) -> Result<()> {
        let path = PathBuf::from("/proc/sys").join(name);
        self.run(|| std::fs::write(&path, value)).with_context(|| format!("cannot set {name}"))
    }

    /// Where tools find the namespace while this process lives, as for `nsenter --net=`.
    pub fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), self.namespace.as_raw_fd()))
    }

    fn tool(&self, mut command: Command, input: &str) -> Result<()> {
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let output = self.run(|| -> io::Result<_> {
            let mut child = command.spawn()?;
            if let Some(mut stdin) = child.stdin.take() {
                stdin.write_all(input.as_bytes())?;
            }
            child.wait_with_output()
        })?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr).trim());
        Ok(())
    }
}
