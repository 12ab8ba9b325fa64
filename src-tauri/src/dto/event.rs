//! What the page is told without having asked, beside the state and the transfers.

use serde::Serialize;
use ts_rs::TS;

use super::{Holder, Path};

/// Whether something is dragged over the window, and how many files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, TS)]
pub(crate) struct Dragging {
    pub(crate) over: bool,
    pub(crate) count: usize,
}

/// Files and folders of this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, TS)]
pub(crate) struct Paths {
    pub(crate) paths: Vec<Path>,
}

/// What a link asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, TS)]
#[serde(rename_all = "camelCase")]
pub(crate) enum LinkKind {
    Pair,
    Unknown,
}

/// `text` is the code to pair with, or the whole link if it is not known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, TS)]
pub(crate) struct Link {
    pub(crate) kind: LinkKind,
    pub(crate) text: String,
}

/// Who keeps the drive from being unmounted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, TS)]
pub(crate) struct Held {
    pub(crate) holders: Vec<Holder>,
}

/// The view that a notification or the tray leads to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, TS)]
pub(crate) struct ShowView {
    pub(crate) view: &'static str,
}

/// An event that says all by its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, TS)]
#[ts(type = "Record<string, never>")]
pub(crate) struct Nothing {}
