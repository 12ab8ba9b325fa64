//! `farhold demo`, as `npm start` runs it.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use farhold_tests::peer::is_mounted;
use farhold_tests::program::{Program, binary};
use farhold_tests::{tree, wait_for};
use serde_json::Value;

fn path(ready: &Value, field: &str) -> PathBuf {
    PathBuf::from(ready[field].as_str().unwrap_or_else(|| panic!("{field} in {ready}")))
}

#[test]
fn the_drive_equals_the_sample_and_nothing_is_left_behind() {
    let mut command = Command::new(binary("farhold"));
    command.args(["demo", "--json", "--seconds", "120"]);
    let mut demo = Program::start(command);
    let ready = demo.ready();
    let (mount, source) = (path(&ready, "mount"), path(&ready, "source"));
    let seen = mount.join(ready["contact"].as_str().expect("a contact"));
    let root = wait_for("the sample is listed", Duration::from_secs(30), || {
        let seen = seen.join(source.file_name().expect("a name"));
        (tree::listing(&seen) == tree::listing(&source)).then_some(seen)
    });
    assert!(tree::listing(&root).lines().count() > 0);
    assert!(demo.stop().success());
    assert!(!is_mounted(&mount), "the mount was left behind");
    assert!(!source.exists(), "the sample was left behind");
}
