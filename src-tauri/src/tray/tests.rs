use super::*;
use crate::dto::testing;
use crate::texts::texts;

fn english(state: &State) -> Vec<Line> {
    menu(state, texts(Some("en")))
}

fn labels(lines: &[Line]) -> Vec<String> {
    lines
        .iter()
        .map(|line| match line {
            Line::Action { label, enabled, .. } => format!("{}{label}", if *enabled { "" } else { "-" }),
            Line::Note(text) => format!("({text})"),
            Line::Submenu { label, .. } => format!("{label} >"),
            Line::Separator => "---".to_owned(),
        })
        .collect()
}

#[test]
fn every_contact_is_told_with_what_can_be_done() {
    let mut state = testing::state();
    state.contacts = vec![testing::contact("anna"), testing::contact("ben")];
    state.contacts[0].session.state = SessionState::Connected;
    state.contacts[1].wanted = false;
    state.contacts[1].present = Some(true);
    let lines = english(&state);
    assert_eq!(
        labels(&lines),
        [
            "anna: connected >",
            "ben: online >",
            "---",
            "Open drive",
            "Share files…",
            "-Pause all transfers",
            "---",
            "Show window",
            "Quit"
        ]
    );
    let Line::Submenu { lines: anna, .. } = &lines[0] else { panic!("no submenu") };
    let Line::Submenu { lines: ben, .. } = &lines[1] else { panic!("no submenu") };
    assert_eq!(
        (labels(anna), labels(ben)),
        (
            vec!["Disconnect".to_owned(), "Open folder".to_owned()],
            vec!["Connect".to_owned(), "Open folder".to_owned()]
        )
    );
}

#[test]
fn transfers_are_paused_or_resumed() {
    let mut state = testing::state();
    state.transfer_counts.running = 1;
    state.transfer_counts.paused = 1;
    assert!(labels(&english(&state)).contains(&"Pause all transfers".to_owned()));
    state.transfer_counts.running = 0;
    assert!(labels(&english(&state)).contains(&"Resume all transfers".to_owned()));
}

#[test]
fn without_an_engine_it_can_be_started_and_the_window_shown() {
    let mut state = testing::state();
    state.engine.state = EngineState::Failed;
    state.drive = None;
    assert_eq!(
        labels(&english(&state)),
        [
            "(The engine is not running)",
            "Restart the engine",
            "---",
            "-Open drive",
            "-Share files…",
            "-Pause all transfers",
            "---",
            "Show window",
            "Quit"
        ]
    );
}

#[test]
fn the_icon_tells_the_state() {
    let mut state = testing::state();
    assert_eq!(icon(&state), Icon::Idle);
    state.contacts = vec![testing::contact("anna")];
    state.contacts[0].session.state = SessionState::Connected;
    assert_eq!(icon(&state), Icon::Connected);
    state.transfer_counts.running = 1;
    assert_eq!(icon(&state), Icon::Transferring);
    state.network.as_mut().unwrap().relay_state = RelayState::Unreachable;
    assert_eq!(icon(&state), Icon::Transferring);
    state.contacts.clear();
    assert_eq!(icon(&state), Icon::Trouble);
    state.network.as_mut().unwrap().relay_state = RelayState::Connected;
    state.cache.as_mut().unwrap().disk_low = true;
    assert_eq!(icon(&state), Icon::Trouble);
}
