use super::*;
use crate::dto::testing;
use crate::texts::texts;

const ALL: NotificationSwitches = NotificationSwitches {
    present: true,
    offered: true,
    transfer_done: true,
    transfer_failed: true,
    conflict: true,
    disk_low: true,
};

fn book(transfers: Vec<Transfer>) -> BTreeMap<u64, Transfer> {
    transfers.into_iter().map(|transfer| (transfer.id, transfer)).collect()
}

fn titles(
    before: (&State, Vec<Transfer>),
    after: (&State, Vec<Transfer>),
    switches: NotificationSwitches,
) -> Vec<String> {
    let transfers = book(after.1);
    let (from, to) = (Moment::new(before.0, &book(before.1)), Moment::new(after.0, &transfers));
    let found = notifications(&from, &to, &transfers, switches, texts(Some("en")));
    found.into_iter().map(|notification| notification.title).collect()
}

#[test]
fn a_contact_that_comes_is_told_and_one_that_was_there_at_first_is_not() {
    let at = |present| {
        let mut state = testing::state();
        state.contacts = vec![testing::contact("anna")];
        state.contacts[0].present = present;
        state
    };
    let told = |before, after, switches| titles((&at(before), vec![]), (&at(after), vec![]), switches);
    assert_eq!(told(Some(false), Some(true), ALL), ["anna is online"]);
    assert!(told(None, Some(true), ALL).is_empty());
    assert!(told(Some(true), Some(true), ALL).is_empty());
    let off = NotificationSwitches { present: false, ..ALL };
    assert!(told(Some(false), Some(true), off).is_empty());
}

#[test]
fn transfers_are_told_when_they_end_each_with_its_switch() {
    let state = testing::state();
    let one = |number, direction| {
        let mut transfer = testing::transfer(1, number);
        transfer.direction = direction;
        transfer
    };
    let told = |before: TransferState, after: TransferState, direction, switches| {
        titles((&state, vec![one(before, direction)]), (&state, vec![one(after, direction)]), switches)
    };
    use TransferState::{Done, Failed, Offered, Paused, Running};
    assert_eq!(told(Running, Done, Direction::Pull, ALL), ["Transfer done"]);
    assert_eq!(told(Running, Failed, Direction::Push, ALL), ["Transfer failed"]);
    assert_eq!(told(Running, Offered, Direction::Receive, ALL), ["anna offers you files"]);
    assert!(told(Done, Done, Direction::Pull, ALL).is_empty());
    assert!(told(Running, Paused, Direction::Pull, ALL).is_empty());
    assert!(told(Running, Done, Direction::Serve, ALL).is_empty());
    for (after, off) in [
        (Done, NotificationSwitches { transfer_done: false, ..ALL }),
        (Failed, NotificationSwitches { transfer_failed: false, ..ALL }),
        (Offered, NotificationSwitches { offered: false, ..ALL }),
    ] {
        assert!(told(Running, after, Direction::Receive, off).is_empty());
    }
}

#[test]
fn a_full_disk_is_told_once() {
    let (before, mut after) = (testing::state(), testing::state());
    after.cache.as_mut().unwrap().disk_low = true;
    assert_eq!(titles((&before, vec![]), (&after, vec![]), ALL), ["The disk is almost full"]);
    assert!(titles((&after, vec![]), (&after, vec![]), ALL).is_empty());
}

#[test]
fn many_at_once_are_a_few() {
    let state = testing::state();
    let many = |state| (0..100).map(|id| testing::transfer(id, state)).collect::<Vec<_>>();
    let told = titles((&state, many(TransferState::Running)), (&state, many(TransferState::Done)), ALL);
    assert_eq!(told.len(), MOST);
}

#[test]
fn a_flood_is_held_back_for_a_while() {
    let (mut gate, now) = (Gate::default(), Instant::now());
    let admitted = |gate: &mut Gate, now| (0..100).filter(|_| gate.admits(now)).count();
    assert_eq!(admitted(&mut gate, now), MOST_IN_A_WHILE);
    assert_eq!(admitted(&mut gate, now + WHILE / 2), 0);
    assert_eq!(admitted(&mut gate, now + WHILE), MOST_IN_A_WHILE);
}
