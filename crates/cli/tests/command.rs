//! The command itself, where no engine is needed: exit codes, what goes to which stream, JSON.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{BufRead, BufReader};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn run(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_farhold"))
            .args(arguments)
            .env("FARHOLD_CONFIG_DIR", self.folder.path().join("config"))
            .output()
            .unwrap()
    }
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn without_an_engine_commands_say_so() {
    let place = Place::new();
    for command in
        [&["down"][..], &["status"], &["code"], &["connect", "ben"], &["share", "x"], &["ls", "ben/a"]]
    {
        let output = place.run(command);
        assert_eq!(output.status.code(), Some(3), "{command:?}");
        assert!(output.stdout.is_empty());
        assert!(text(&output.stderr).contains("farhold up"), "{command:?}: {}", text(&output.stderr));
    }
    let output = place.run(&["status", "--json"]);
    let error: Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!((&error["class"], &error["code"]), (&"not_running".into(), &3.into()));
    // Asking leaves nothing behind.
    assert!(!place.folder.path().join("config").exists());
}

#[test]
fn wrong_usage_is_2_and_help_is_0() {
    let place = Place::new();
    for wrong in
        [&[][..], &["frobnicate"], &["share"], &["up", "--mount", "/x", "--no-mount"], &["ls", "a/../b"]]
    {
        assert_eq!(place.run(wrong).status.code(), Some(2), "{wrong:?}");
    }
    for right in [&["--help"][..], &["--version"], &["help", "contact"], &["up", "--help"]] {
        assert_eq!(place.run(right).status.code(), Some(0), "{right:?}");
    }
}

#[test]
fn the_doctor_answers_without_an_engine_and_changes_nothing() {
    let place = Place::new();
    let output = place.run(&["doctor", "--json"]);
    assert_eq!(output.status.code(), Some(0));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let checks = answer["checks"].as_array().unwrap();
    for name in ["fuse", "relay", "udp", "port", "config", "secrets", "watches"] {
        let check = checks.iter().find(|check| check["check"] == name).unwrap_or_else(|| panic!("{name}"));
        assert!(check["verdict"] == "ok" || check["fix"].is_string(), "{check}");
    }
    assert!(!place.folder.path().join("config").exists());

    std::fs::create_dir(place.folder.path().join("config")).unwrap();
    std::fs::write(place.folder.path().join("config/settings.json"), "{").unwrap();
    let answer: Value = serde_json::from_slice(&place.run(&["doctor", "--json"]).stdout).unwrap();
    assert_eq!(answer["ok"], false);
}

#[test]
fn a_damaged_file_stops_up_and_stays() {
    let place = Place::new();
    let config = place.folder.path().join("config");
    std::fs::create_dir(&config).unwrap();
    std::fs::write(config.join("settings.json"), "{").unwrap();
    let output = place.run(&["up", "--no-mount"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("settings.json is damaged"), "{}", text(&output.stderr));
    assert_eq!(std::fs::read_to_string(config.join("settings.json")).unwrap(), "{");
}

#[test]
fn an_engine_lives_on_when_nobody_reads_its_log() {
    let place = Place::new();
    let (reader, log) = std::io::pipe().unwrap();
    drop(reader);
    let mut engine = Command::new(env!("CARGO_BIN_EXE_farhold"))
        .args(["up", "--no-mount", "--relay-only", "--json"])
        .env("FARHOLD_CONFIG_DIR", place.folder.path().join("config"))
        .env("FARHOLD_LOG", "debug")
        .stdout(Stdio::piped())
        .stderr(log)
        .spawn()
        .unwrap();
    let mut ready = String::new();
    BufReader::new(engine.stdout.take().unwrap()).read_line(&mut ready).unwrap();
    assert!(ready.contains("\"ready\":true"), "{ready}");
    assert_eq!(place.run(&["status"]).status.code(), Some(0));
    assert_eq!(place.run(&["down"]).status.code(), Some(0));
    assert!(engine.wait().unwrap().success());
}

#[test]
fn completions_for_every_shell() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = place.run(&["completions", shell]);
        assert_eq!(output.status.code(), Some(0), "{shell}");
        assert!(text(&output.stdout).contains("disconnect"), "{shell}");
    }
}
