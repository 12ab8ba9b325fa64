use std::os::unix::ffi::OsStringExt;

use clap::CommandFactory;
use clap::error::ErrorKind;

use super::*;

fn parse(line: &str) -> Result<Cli, clap::Error> {
    Cli::try_parse_from(std::iter::once("farhold").chain(line.split_whitespace()))
}

fn refused(line: &str) -> ErrorKind {
    parse(line).map(|cli| cli.command).expect_err(line).kind()
}

#[test]
fn the_definition_holds_together() {
    Cli::command().debug_assert();
}

#[test]
fn every_command_of_the_interface_is_there() {
    for line in [
        "up",
        "up --relay relay.example:7480 --mount /d --listen 7000 --no-lan",
        "up --relay 127.0.0.1:1 --no-mount --relay-only",
        "down",
        "status",
        "code",
        "contact add ben CODE",
        "contact list",
        "contact rename ben Ben",
        "contact remove ben",
        "connect ben",
        "connect ben --wait 30",
        "disconnect ben",
        "share a",
        "share a b --with ben --write",
        "share a --as b",
        "unshare a",
        "unshare a --with ben",
        "shares",
        "ls",
        "ls ben",
        "ls ben/a/b",
        "cache",
        "cache drop",
        "cache drop ben/a",
        "limit 20GB",
        "pin ben/a",
        "unpin ben",
        "pull ben/a",
        "pull ben/a/b dest --wait",
        "push a ben",
        "push a ben --wait",
        "transfers",
        "pause 1",
        "resume 1",
        "cancel 1",
        "accept ben dir",
        "accept ben --off",
        "accept 3",
        "accept 3 dir",
        "decline 3",
        "forget",
        "forget 3 4",
        "limit --receive 2MB --send off",
        "limit 20GB --send 1MB/s",
        "mount",
        "unmount",
        "unmount --force",
        "settings",
        "settings relay relay.example:7480",
        "settings cache_limit 20GB",
        "doctor",
        "doctor --relay relay.example",
        "doctor --export file",
        "demo",
        "demo --seconds 5 --mount /d",
        "completions bash",
    ] {
        parse(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        for with in [format!("--json --config-dir /c {line}"), format!("{line} --json --config-dir /c")] {
            let cli = parse(&with).unwrap_or_else(|error| panic!("{with}: {error}"));
            assert!(cli.json && cli.config_dir.is_some(), "{with}");
        }
    }
}

#[test]
fn what_contradicts_itself_or_is_unknown_is_refused() {
    assert_eq!(refused("frobnicate"), ErrorKind::InvalidSubcommand);
    assert_eq!(refused("up --mount /d --no-mount"), ErrorKind::ArgumentConflict);
    assert_eq!(refused("up --listen 7000 --relay-only"), ErrorKind::ArgumentConflict);
    assert_eq!(refused("up --listen 70000"), ErrorKind::ValueValidation);
    assert_eq!(refused("up --relay a:b"), ErrorKind::ValueValidation);
    assert_eq!(refused("share"), ErrorKind::MissingRequiredArgument);
    assert_eq!(refused("share a --as b/c"), ErrorKind::ValueValidation);
    assert_eq!(refused("ls ben/../x"), ErrorKind::ValueValidation);
    for wait in ["-1", "x", "nan", "1e99"] {
        assert_eq!(refused(&format!("connect ben --wait={wait}")), ErrorKind::ValueValidation, "{wait}");
    }
    assert_eq!(refused("limit lots"), ErrorKind::ValueValidation);
    assert_eq!(refused("settings lan"), ErrorKind::MissingRequiredArgument);
    assert_eq!(refused("settings colour red"), ErrorKind::ValueValidation);
    assert_eq!(refused("doctor --relay a --export file"), ErrorKind::ArgumentConflict);
    assert_eq!(refused("pull"), ErrorKind::MissingRequiredArgument);
    assert_eq!(refused("pull ben/../x"), ErrorKind::ValueValidation);
    assert_eq!(refused("push a"), ErrorKind::MissingRequiredArgument);
    assert_eq!(refused("accept"), ErrorKind::MissingRequiredArgument);
    assert_eq!(refused("limit"), ErrorKind::MissingRequiredArgument);
    assert_eq!(refused("limit --send fast"), ErrorKind::ValueValidation);
    assert_eq!(refused("decline one"), ErrorKind::ValueValidation);
    assert_eq!(refused("accept ben dir --off"), ErrorKind::ArgumentConflict);
    assert_eq!(refused("resume one"), ErrorKind::ValueValidation);
}

#[test]
fn a_code_may_begin_with_a_hyphen_and_a_name_need_not_be_text() {
    let Command::Ask(Ask::Contact(Contact::Add { code, .. })) =
        parse("contact add ben -AbC_").unwrap().command
    else {
        panic!("another command");
    };
    assert_eq!(code, "-AbC_");
    let odd = OsString::from_vec(b"ben/a\xff".to_vec());
    let Command::Ask(Ask::Ls { path: Some(path) }) =
        Cli::try_parse_from(["farhold".into(), "ls".into(), odd]).unwrap().command
    else {
        panic!("another command");
    };
    assert_eq!(path.to_bytes(), b"ben/a\xff");
}
