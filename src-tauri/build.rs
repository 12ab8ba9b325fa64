//! Gives Tauri the list of commands that the page may be allowed, and keeps builds without the page possible.

use std::path::Path;
use std::{env, fs, io};

macro_rules! commands {
    ($($name:ident),*) => { &[$(stringify!($name)),*] };
}

const COMMANDS: &[&str] = include!("src/commands/names.rs");

fn main() -> io::Result<()> {
    let page = Path::new("../ui/dist");
    println!("cargo:rerun-if-changed=../ui/dist");
    // Checks and tests need no page. What ships does, and fails without it.
    if !page.join("index.html").exists() && env::var("PROFILE").as_deref() != Ok("release") {
        fs::create_dir_all(page)?;
        fs::write(page.join("index.html"), "<!doctype html><title>Run: npm run ui:build</title>")?;
    }
    let manifest = tauri_build::AppManifest::new().commands(COMMANDS);
    tauri_build::try_build(tauri_build::Attributes::new().app_manifest(manifest)).map_err(io::Error::other)
}
