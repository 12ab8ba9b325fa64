//! Two paired engines and their relay, as programs in a lab.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use farhold_tests::peer::{Peer, PeerOptions, Relay};
use farhold_tests::tree;
use serde_json::Value;

use crate::lab::{Lab, Site};

/// How long a connection or a better path may take, on a loaded machine behind a link that loses packets.
const WITHIN: Duration = Duration::from_secs(60);

/// Bytes of a file that is read to see whether a session works.
const FILE: usize = 4 << 20;

/// Two engines that know each other as "far" and "near", their relay, and the lab they are in.
///
/// Like all of `farhold-tests` it panics when something does not work.
#[derive(Debug)]
pub struct Pair {
    /// The engine at the far host; calls the other "near".
    pub far: Peer,
    /// The engine at the near host; calls the other "far".
    pub near: Peer,
    /// The relay.
    pub relay: Relay,
    /// Where they run.
    pub lab: Lab,
}

impl Pair {
    /// Starts relay and engines, pairs the two and waits until they are connected.
    pub fn start(lab: Lab, options: PeerOptions) -> Self {
        let relay_host = lab.v4(Site::Relay);
        let relay = lab.space(Site::Relay).run(|| Relay::start_at(relay_host));
        let start = |site| {
            let address = relay.address();
            lab.space(site).run(|| Peer::start_with(address, options))
        };
        let (far, near) = (start(Site::Far), start(Site::Near));
        far.ask(&["contact", "add", "near", &near.code()]);
        near.ask(&["contact", "add", "far", &far.code()]);
        let pair = Self { far, near, relay, lab };
        pair.wait_connected();
        pair
    }

    /// Waits until both say that they are connected.
    pub fn wait_connected(&self) {
        self.far.wait_session("near", "connected", WITHIN);
        self.near.wait_session("far", "connected", WITHIN);
    }

    /// What the far engine says of its session.
    pub fn session(&self) -> Value {
        self.far.contact("near")["session"].take()
    }

    /// Path and transport by which the two are connected, such as `direct` and `quic`.
    pub fn path(&self) -> (String, String) {
        let session = self.session();
        let text = |name: &str| session[name].as_str().unwrap_or("none").to_owned();
        (text("path"), text("transport"))
    }

    /// Waits until they are connected by a path that `fits`.
    pub fn wait_path(&self, fits: impl Fn(&str, &str) -> bool) {
        let end = Instant::now() + WITHIN;
        loop {
            let (path, transport) = self.path();
            if fits(&path, &transport) {
                return;
            }
            assert!(Instant::now() < end, "not the path that should be: {}", self.session());
            thread::sleep(Duration::from_millis(100));
        }
    }

    /// Shares `folder` of the near engine, and waits until the far drive lists `entry` in it.
    pub fn share_near(&self, folder: &Path, entry: &str) {
        let name = folder.file_name().expect("a folder has a name").to_string_lossy();
        share(&self.near, "far", folder, &name);
        self.far.wait_path(&format!("near/{name}/{entry}"));
    }

    /// The far peer reads a new file of the near one, and every byte of it is right. `seed` names the file.
    pub fn read_new(&self, seed: u64) {
        let name = format!("file-{seed}");
        let folder = self.near.home().join("shared");
        let first = !folder.exists();
        tree::write(&folder.join(&name), seed, FILE);
        if first {
            self.share_near(&folder, &name);
        }
        let seen = self.far.wait_path(&format!("near/shared/{name}"));
        assert!(fs::read(seen).expect("its bytes") == tree::bytes(seed, FILE), "{name} was read wrongly");
    }

    /// For `within`, the far peer reads one new file after the other, and the session stands all the time; tells
    /// `each` how many files have been read, and the session.
    pub fn endure(&self, within: Duration, mut each: impl FnMut(u64, &Value)) {
        let end = Instant::now() + within;
        for number in 1.. {
            self.read_new(number);
            let session = self.session();
            assert_eq!(session["state"], "connected", "after {number} files: {session}");
            each(number, &session);
            if Instant::now() > end {
                return;
            }
        }
    }

    /// Ends everything in good order.
    pub fn stop(mut self) {
        self.far.stop();
        self.near.stop();
    }
}

/// Shares `folder` with a contact under `name`. Both sides' trees lie in one folder of the drive, so their names differ.
pub fn share(peer: &Peer, contact: &str, folder: &Path, name: &str) {
    peer.ask(&["share", folder.to_str().expect("a path of text"), "--with", contact, "--as", name]);
}
