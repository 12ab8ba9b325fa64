//! The command line, and what a second start passes on to the first.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Parser;
use serde::{Deserialize, Serialize};

use crate::dto::{Path, of_file_url};

/// Most files and links that one start takes; more are left out.
const MOST: usize = 1000;

/// The window and the tray of a shared drive between people who paired once.
#[derive(Debug, Clone, Parser)]
#[command(name = "farhold-app", version)]
pub(crate) struct Arguments {
    /// Everything of one engine: settings, identity, contacts, catalogs, cache [default: ~/.config/farhold]
    #[arg(long, value_name = "DIR", env = "FARHOLD_CONFIG_DIR")]
    pub(crate) config_dir: Option<PathBuf>,
    /// Starts in the tray, without showing the window
    #[arg(long)]
    pub(crate) hidden: bool,
    /// Shows a relay and a second peer on this machine, paired with a fresh engine
    #[arg(long)]
    pub(crate) demo: bool,
    /// Files and folders to share or send, and farhold:// links
    #[arg(value_name = "FILE|LINK")]
    items: Vec<OsString>,
}

/// What a start asks for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Start {
    /// Whether the window is not to be shown.
    pub(crate) hidden: bool,
    /// Whether the demo is to be shown.
    pub(crate) demo: bool,
    /// `farhold:` links.
    pub(crate) links: Vec<String>,
    /// Files and folders, absolute.
    pub(crate) paths: Vec<Path>,
    /// What a Wayland compositor wants to see before it raises a window.
    pub(crate) activation: Option<String>,
}

impl Arguments {
    /// What this start asks for.
    pub(crate) fn start(&self) -> Start {
        let mut start = Start {
            hidden: self.hidden,
            demo: self.demo,
            activation: std::env::var("XDG_ACTIVATION_TOKEN").ok(),
            ..Start::default()
        };
        for item in self.items.iter().take(MOST) {
            match item.to_str() {
                Some(link) if link.starts_with("farhold:") => start.links.push(link.to_owned()),
                // Desktops name files so. One of another machine is no path here.
                Some(url) if url.starts_with("file://") => {
                    start.paths.extend(of_file_url(url).map(Path::new));
                }
                // A path that cannot be made absolute is empty.
                Some(_) | None => start.paths.extend(std::path::absolute(item).ok().map(Path::new)),
            }
        }
        start
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_links_are_told_apart() {
        let items =
            ["farhold://pair/abc", "/a b", "relative", "file:///c%20d", "file://elsewhere/e", "file:f"];
        let arguments = Arguments::parse_from(["farhold-app", "--hidden"].iter().chain(&items));
        let start = arguments.start();
        assert!(start.hidden && !start.demo);
        assert_eq!(start.links, ["farhold://pair/abc"]);
        let here = std::env::current_dir().unwrap();
        let relative = |name: &str| Path::new(here.join(name));
        assert_eq!(
            start.paths,
            [Path::new("/a b"), relative("relative"), Path::new("/c d"), relative("file:f")]
        );
    }
}
