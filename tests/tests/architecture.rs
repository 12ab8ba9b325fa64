//! Holds what `docs/architecture.md` says of rooms: who imports whom, where generated types may be, that the
//! lints hold everywhere and that every dependency's licence fits.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand};

/// Room and what it may import of ours. A room missing here, or an arrow not listed, fails.
const ARROWS: [(&str, &[&str]); 15] = [
    ("secure", &[]),
    ("wire", &[]),
    ("relay", &["wire"]),
    ("net", &["secure", "wire"]),
    ("catalog", &["wire"]),
    ("cache", &[]),
    ("vfs", &["catalog", "cache"]),
    ("mount", &["vfs"]),
    ("engine", &["secure", "wire", "net", "catalog", "cache", "vfs", "mount"]),
    ("control", &["engine", "wire"]),
    ("demo", &["engine", "control", "relay"]),
    ("cli", &["engine", "control", "demo", "wire"]),
    ("app", &["engine", "control", "demo"]),
    ("tests", &[]),
    ("wan", &["tests"]),
];

/// What a room may never depend on, however indirectly.
const NEVER: [(&str, &[&str]); 4] = [
    ("relay", &["fuser", "clatter", "rusqlite", "tauri", "farhold-secure"]),
    ("catalog", &["fuser", "farhold-net"]),
    ("cache", &["fuser", "tonic", "farhold-net", "farhold-wire"]),
    ("vfs", &["fuser", "farhold-net"]),
];

fn metadata() -> Metadata {
    MetadataCommand::new()
        .manifest_path(root().join("Cargo.toml"))
        .other_options(["--locked".into(), "--offline".into()])
        .exec()
        .expect("cargo metadata")
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ is in the root").to_path_buf()
}

fn room(package: &str) -> Option<&str> {
    package.strip_prefix("farhold-")
}

#[test]
fn imports_follow_the_arrows() {
    let allowed: BTreeMap<_, _> = ARROWS.into_iter().collect();
    let metadata = metadata();
    let mut seen = BTreeSet::new();
    for package in metadata.workspace_packages() {
        let from = room(&package.name).expect("every package of ours is named farhold-<room>");
        let may = allowed.get(from).unwrap_or_else(|| panic!("room {from} is not in the list of arrows"));
        seen.insert(from.to_owned());
        for dependency in &package.dependencies {
            // Tests may use any room; what ships may not.
            if dependency.kind != DependencyKind::Normal {
                continue;
            }
            if let Some(to) = room(&dependency.name) {
                assert!(may.contains(&to), "{from} must not import {to}");
            }
        }
    }
    assert_eq!(seen.len(), ARROWS.len(), "every room in the list exists: {seen:?}");
}

#[test]
fn some_rooms_never_see_some_crates() {
    let metadata = metadata();
    let resolve = metadata.resolve.as_ref().expect("a resolved graph");
    let names: BTreeMap<_, _> = metadata.packages.iter().map(|p| (&p.id, p.name.to_string())).collect();
    for (room, never) in NEVER {
        let start = metadata
            .workspace_packages()
            .into_iter()
            .find(|p| p.name.as_str() == format!("farhold-{room}"))
            .expect("the room exists");
        let mut todo = vec![&start.id];
        let mut reached = BTreeSet::new();
        while let Some(id) = todo.pop() {
            if !reached.insert(id) {
                continue;
            }
            let node = resolve.nodes.iter().find(|node| node.id == *id).expect("a node per package");
            for dependency in &node.deps {
                if dependency.dep_kinds.iter().any(|kind| kind.kind == DependencyKind::Normal) {
                    todo.push(&dependency.pkg);
                }
            }
        }
        for id in reached {
            let name = names[id].as_str();
            assert!(!never.contains(&name), "{room} must not depend on {name}");
        }
    }
}

/// Generated types stop at `wire`: only `rpc` adapters and the control crate's conversions see them.
#[test]
fn generated_types_stay_in_adapters() {
    for file in sources() {
        let text = fs::read_to_string(&file).expect("a source file");
        let relative = file.strip_prefix(root()).expect("below the root").to_string_lossy().into_owned();
        let adapter = relative.starts_with("crates/wire/")
            || relative.starts_with("crates/control/")
            || relative.ends_with("/rpc.rs")
            || relative.contains("/rpc/")
            || relative.contains("/tests/")
            || relative.ends_with("/tests.rs");
        assert!(adapter || !text.contains("farhold_wire::proto"), "{relative} uses generated types");
    }
}

/// The workspace's lints forbid `unsafe` among others, so every room must take them over.
#[test]
fn every_room_keeps_the_lints() {
    for package in metadata().workspace_packages() {
        let manifest = fs::read_to_string(&package.manifest_path).expect("a manifest");
        assert!(manifest.contains("[lints]\nworkspace = true"), "{} sets its own lints", package.name);
    }
}

/// The allow list of `deny.toml` is enough for every dependency.
#[test]
fn licences_fit() {
    let deny = fs::read_to_string(root().join("deny.toml")).expect("deny.toml");
    let list = deny.split("allow = [").nth(1).and_then(|rest| rest.split(']').next()).expect("an allow list");
    let allowed: BTreeSet<&str> =
        list.split(',').map(|item| item.trim().trim_matches('"')).filter(|item| !item.is_empty()).collect();
    for package in metadata().packages {
        let licence = package.license.clone().unwrap_or_else(|| panic!("{} names no licence", package.name));
        assert!(fits(&licence, &allowed), "{} is under {licence}", package.name);
    }
}

/// Whether an SPDX expression can be met with the allowed licences. Parentheses only ever hold alternatives here.
fn fits(expression: &str, allowed: &BTreeSet<&str>) -> bool {
    expression
        .replace(['(', ')'], "")
        .split(" AND ")
        .all(|part| part.replace('/', " OR ").split(" OR ").any(|one| allowed.contains(one.trim())))
}

fn sources() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut todo = vec![root().join("crates"), root().join("src-tauri/src"), root().join("tests")];
    while let Some(folder) = todo.pop() {
        for entry in fs::read_dir(folder).expect("a folder of sources") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                todo.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    assert!(found.len() > 20, "the sources were found");
    found
}
