//! The drive unmounted and mounted by command, while a program of another process holds a file of it.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use farhold_tests::peer::{Peer, PeerOptions, Relay, is_mounted, pair, succeeds};
use farhold_tests::{tree, wait_for};
use serde_json::{Value, json};

const MOUNTED: PeerOptions = PeerOptions { mount: true, relay_only: false };

/// A program that has `file` open and does nothing.
struct Holder(Child);

impl Holder {
    fn start(file: &Path) -> Self {
        // Opened by the program itself: a test never opens a file of the mount.
        let mut tail = Command::new("tail");
        tail.args(["-c", "1", "-f"]).arg(file).stdin(Stdio::null()).stdout(Stdio::null());
        Self(tail.spawn().expect("tail runs"))
    }

    fn has(&self, file: &Path) -> bool {
        let open = std::fs::read_dir(format!("/proc/{}/fd", self.0.id())).into_iter().flatten().flatten();
        open.filter_map(|link| std::fs::read_link(link.path()).ok()).any(|target| target == file)
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn drive(peer: &Peer) -> Value {
    peer.ask(&["status"])["mount"]["state"].clone()
}

#[test]
fn a_drive_in_use_is_unmounted_only_by_force_and_comes_back() {
    let relay = Relay::start();
    let mut anna = Peer::start(&relay, MOUNTED);
    let mut ben = Peer::start(&relay, PeerOptions::default());
    pair(&anna, &ben);
    let shared = ben.home().join("shared");
    tree::write(&shared.join("a film.bin"), 1, 3 << 20);
    ben.ask(&["share", shared.to_str().expect("text"), "--with", "anna"]);
    let film = anna.wait_path("ben/shared/a film.bin");
    let point = anna.mount();

    let holder = Holder::start(&film);
    wait_for("the file is open", Duration::from_secs(20), || holder.has(&film).then_some(()));
    let refused = anna.command(&["unmount"]);
    assert_eq!(refused.status.code(), Some(7));
    let said: Value = serde_json::from_slice(&refused.stderr).expect("JSON");
    let message = said["error"].as_str().expect("a message");
    let who = format!("{} (tail, process {})", film.display(), holder.0.id());
    assert!(message.contains(&who) && message.contains("--force"), "{message}");
    assert!(is_mounted(&point));
    assert_eq!(drive(&anna), "mounted");
    assert_eq!(tree::hash(&film), tree::hash(&shared.join("a film.bin")));

    let forced = anna.ask(&["unmount", "--force"]);
    let told = json!([{"pid": holder.0.id(), "program": "tail", "file": film}]);
    assert_eq!(forced, json!({"unmounted": true, "holders": told}));
    assert!(!is_mounted(&point));
    assert_eq!(drive(&anna), "unmounted");
    drop(holder);

    let mounted = anna.ask(&["mount"]);
    assert_eq!(mounted["mount"]["state"], "mounted");
    assert_eq!(tree::hash(&film), tree::hash(&shared.join("a film.bin")));
    assert_eq!(anna.ask(&["unmount"]), json!({"unmounted": true, "holders": []}));
    assert!(!is_mounted(&point) && !succeeds(Command::new("stat").arg(&film)));
    // Commands still see what is in the drive.
    assert_eq!(anna.ask(&["ls", "ben/shared"])["entries"][0]["name"], "a film.bin");

    // The engine ends in time also with the drive in use.
    anna.ask(&["mount"]);
    let holder = Holder::start(&film);
    wait_for("the file is open", Duration::from_secs(20), || holder.has(&film).then_some(()));
    let begun = Instant::now();
    anna.stop();
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    ben.stop();
}

#[test]
fn settings_are_changed_and_a_report_is_written_by_command() {
    let relay = Relay::start();
    let mut anna = Peer::start(&relay, PeerOptions::default());
    let mut ben = Peer::start(&relay, PeerOptions::default());
    let code = ben.code();
    ben.stop();
    anna.ask(&["contact", "add", "Somebody", &code]);
    let settings = anna.ask(&["settings"]);
    assert_eq!((&settings["settings"]["lan"], &settings["restart_needed"]), (&json!(true), &json!([])));
    let changed = anna.ask(&["settings", "cache_limit", "200MB"]);
    assert_eq!(changed["settings"]["cache_limit"], 200_000_000);
    assert_eq!(anna.ask(&["status"])["cache"]["limit"], 200_000_000);
    // This run has options for both.
    anna.ask(&["settings", "relay", "localhost:1"]);
    let changed = anna.ask(&["settings", "listen_port", "7111"]);
    assert_eq!(changed["restart_needed"], json!(["relay", "listen_port"]));
    assert_eq!(anna.command(&["settings", "mount", "perhaps"]).status.code(), Some(2));
    assert_eq!(anna.command(&["settings", "cache_limit", "5"]).status.code(), Some(2));
    assert_eq!(anna.ask(&["settings"])["settings"], changed["settings"]);

    let report = anna.home().join("report.json");
    anna.ask(&["doctor", "--export", report.to_str().expect("text")]);
    let text = std::fs::read_to_string(&report).expect("the report");
    let value: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(value["settings"]["cache_limit"], 200_000_000);
    let log = value["log"].as_array().expect("messages");
    assert!(
        log.iter().any(|line| line.as_str().is_some_and(|line| line.contains("the relay is reached"))),
        "{log:?}"
    );
    let home = anna.home().to_string_lossy().into_owned();
    for secret in ["Somebody", &code, &home, &anna.code(), &relay.address()] {
        assert!(!text.contains(secret), "{secret} is left in {text}");
    }
    anna.stop();

    // The same without an engine, which has no status and no log.
    anna.ask(&["doctor", "--export", report.to_str().expect("text")]);
    let value: Value = serde_json::from_slice(&std::fs::read(&report).expect("the report")).expect("JSON");
    assert_eq!((&value["status"], &value["settings"]["listen_port"]), (&Value::Null, &json!(7111)));
}
