//! The tray: what its menu holds and which icon it has, as pure functions of the state. `item` shows them.

use crate::dto::{Contact, DriveState, EngineState, Pairing, RelayState, SessionState, State};
use crate::texts::Texts;

pub(crate) mod item;

/// What was chosen in the menu.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event {
    Connect { contact: String },
    Disconnect { contact: String },
    OpenFolder { contact: String },
    OpenDrive,
    ShareFiles,
    PauseAll,
    ResumeAll,
    RestartEngine,
    ShowWindow,
    Quit,
}

/// A line of the menu.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Line {
    /// Does something when it is chosen.
    Action {
        label: String,
        event: Event,
        enabled: bool,
    },
    /// Only says something.
    Note(String),
    /// Holds lines of its own.
    Submenu {
        label: String,
        lines: Vec<Line>,
    },
    Separator,
}

/// Below this many bytes per second nothing counts as moving: sessions say now and then that they are there.
const MOVING: u64 = 20_000;

/// The state that the icon shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Icon {
    Idle,
    Connected,
    Transferring,
    Trouble,
}

/// Which icon says how it stands.
pub(crate) fn icon(state: &State) -> Icon {
    let connected = state.contacts.iter().any(|contact| contact.session.state == SessionState::Connected);
    let failed = state.engine.state == EngineState::Failed
        || state.drive.as_ref().is_some_and(|drive| drive.state == DriveState::Failed)
        || state.cache.as_ref().is_some_and(|cache| cache.disk_low);
    let lost = state.network.as_ref().is_some_and(|network| network.relay_state == RelayState::Unreachable);
    let rate = state.wire.as_ref().map_or(0, |wire| wire.rate_in.max(wire.rate_out));
    // While somebody is connected, nobody is missed.
    if failed || (lost && !connected) {
        Icon::Trouble
    } else if connected && (state.transfer_counts.running > 0 || rate >= MOVING) {
        Icon::Transferring
    } else if connected {
        Icon::Connected
    } else {
        Icon::Idle
    }
}

/// What the menu holds.
pub(crate) fn menu(state: &State, texts: &Texts) -> Vec<Line> {
    let action = |label: &str, event, enabled| Line::Action { label: label.to_owned(), event, enabled };
    let running = state.engine.state == EngineState::Running;
    let mut lines = match state.engine.state {
        EngineState::Starting => vec![Line::Note(texts.engine_starting.to_owned())],
        EngineState::Stopping => vec![Line::Note(texts.engine_stopping.to_owned())],
        EngineState::Failed => vec![
            Line::Note(texts.engine_failed.to_owned()),
            action(texts.restart_engine, Event::RestartEngine, true),
        ],
        EngineState::Running if state.contacts.is_empty() => vec![Line::Note(texts.no_contacts.to_owned())],
        EngineState::Running => state.contacts.iter().map(|one| contact(one, state, texts)).collect(),
    };
    let counts = &state.transfer_counts;
    let moving = counts.running + counts.queued + counts.waiting > 0;
    let pause = if counts.paused > 0 && !moving {
        action(texts.resume_all, Event::ResumeAll, running)
    } else {
        action(texts.pause_all, Event::PauseAll, running && moving)
    };
    lines.extend([
        Line::Separator,
        action(texts.open_drive, Event::OpenDrive, is_mounted(state)),
        action(texts.share_files, Event::ShareFiles, running && !state.contacts.is_empty()),
        pause,
        Line::Separator,
        action(texts.show_window, Event::ShowWindow, true),
        action(texts.quit, Event::Quit, true),
    ]);
    lines
}

fn is_mounted(state: &State) -> bool {
    state.drive.as_ref().is_some_and(|drive| drive.state == DriveState::Mounted)
}

fn contact(contact: &Contact, state: &State, texts: &Texts) -> Line {
    let name = || contact.name.clone();
    let stands = match (contact.pairing, contact.session.state, contact.present) {
        (Pairing::Pending, ..) => texts.unpaired,
        (_, SessionState::Connected, _) => texts.connected,
        (_, SessionState::Connecting, _) => texts.connecting,
        (_, SessionState::Interrupted, _) => texts.interrupted,
        (_, SessionState::Offline, Some(true)) => texts.present,
        (_, SessionState::Offline, Some(false) | None) => texts.away,
    };
    let change = if contact.wanted {
        (texts.disconnect, Event::Disconnect { contact: name() })
    } else {
        (texts.connect, Event::Connect { contact: name() })
    };
    Line::Submenu {
        label: format!("{}: {stands}", contact.name),
        lines: vec![
            Line::Action { label: change.0.to_owned(), event: change.1, enabled: true },
            Line::Action {
                label: texts.open_folder.to_owned(),
                event: Event::OpenFolder { contact: name() },
                enabled: is_mounted(state),
            },
        ],
    }
}

#[cfg(test)]
mod tests;
