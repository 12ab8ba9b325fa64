use std::path::Path;

use farhold_wire::{
    EntryId, EntryKind, OfferAnswer, Report, Standing, Timestamp, TransferState as Told, Version,
};

use super::history::{HISTORY, REMEMBERED};
use super::offering::OFFERED;
use super::*;
use crate::transfers::record::Hex;

const BEN: ContactId = ContactId([1; 16]);
const CLEO: ContactId = ContactId([2; 16]);

fn name(text: &str) -> Name {
    Name::new(text.as_bytes().to_vec()).unwrap()
}

fn pull() -> Job {
    Job::Pull { below: vec![], folder: Hex(b"/to".to_vec()), name: Hex(b"a".to_vec()), begun: false }
}

fn push() -> Job {
    Job::Push { path: Hex(b"/from/a".to_vec()) }
}

fn new(key: u8, contact: ContactId, job: Job) -> New {
    New { key: TransferKey([key; 16]), tag: key.into(), contact, name: name("a"), job }
}

fn empty() -> Table {
    Table::load(List::new(1, vec![], vec![]), 1, Instant::now())
}

/// What [`Table::begin`] begins while everybody is connected.
fn begin(table: &mut Table) -> Vec<u64> {
    table.begin(|_| true, Instant::now()).iter().map(|(record, _)| record.id.0).collect()
}

fn state(table: &Table, id: TransferId) -> TransferState {
    table.items[&id].record.state
}

fn wait_for_contact() -> End {
    End::Wait { reason: "away".to_owned(), retry: None }
}

fn root() -> Entry {
    Entry {
        id: EntryId([9; 16]),
        parent: None,
        name: name("a"),
        kind: EntryKind::Folder,
        version: Version { epoch: 1, counter: 1 },
        incarnation: 0,
        modified: Timestamp::default(),
        mode: 0o755,
        writable: false,
        unavailable: false,
    }
}

fn offer(key: u8) -> farhold_wire::Offer {
    let sequence = said();
    farhold_wire::Offer { key: TransferKey([key; 16]), root: root(), files: 2, bytes: 10, sequence }
}

fn report(key: u8, push: bool, state: Told) -> Report {
    Report {
        key: TransferKey([key; 16]),
        push,
        name: name("a"),
        state,
        reason: String::new(),
        files_done: 1,
        files: 2,
        bytes_done: 5,
        bytes: 10,
        sequence: said(),
    }
}

/// Later than everything before, of another engine.
fn said() -> Sequence {
    use std::sync::atomic::{AtomicU64, Ordering};
    static LAST: AtomicU64 = AtomicU64::new(0);
    Sequence { run: 99, number: LAST.fetch_add(1, Ordering::Relaxed) }
}

fn receiving(table: &mut Table, key: u8) -> TransferId {
    let job = Job::Receive { folder: Hex(b"/in".to_vec()), name: None };
    table.receive(new(key, BEN, job), root(), Amounts::default(), Instant::now()).unwrap()
}

#[test]
fn two_work_at_once_and_the_rest_in_order() {
    let mut table = empty();
    let ids: Vec<_> = (1..=4).map(|key| table.add(new(key, BEN, pull()), Instant::now()).unwrap()).collect();
    assert_eq!(begin(&mut table), [1, 2]);
    assert_eq!(begin(&mut table), [0; 0]);
    // One that waits leaves its place to the next.
    table.ended(ids[0], wait_for_contact(), Instant::now());
    assert_eq!(begin(&mut table), [3]);
    table.connection(BEN, true);
    assert_eq!(state(&table, ids[0]), TransferState::Queued);
    table.ended(ids[1], End::Done { note: None }, Instant::now());
    assert_eq!(begin(&mut table), [1]);
}

#[test]
fn what_is_not_connected_waits_and_comes_back_by_itself() {
    let mut table = empty();
    let id = table.add(new(1, BEN, pull()), Instant::now()).unwrap();
    let other = table.add(new(2, CLEO, pull()), Instant::now()).unwrap();
    let begun = table.begin(|contact| contact == CLEO, Instant::now());
    assert_eq!(begun.iter().map(|(record, _)| record.id).collect::<Vec<_>>(), [other]);
    assert_eq!(state(&table, id), TransferState::Waiting);
    table.connection(BEN, false);
    assert_eq!(begin(&mut table), [0; 0]);
    table.connection(BEN, true);
    assert_eq!(begin(&mut table), [id.0]);
    // Waiting for a moment is not waiting for the contact.
    let now = Instant::now();
    let second = Duration::from_secs(1);
    table.ended(id, End::Wait { reason: "busy".to_owned(), retry: Some(second) }, now);
    table.connection(BEN, true);
    assert_eq!((state(&table, id), table.next_due()), (TransferState::Waiting, Some(now + second)));
    table.due(now + second / 2);
    assert_eq!(begin(&mut table), [0; 0]);
    table.due(now + second);
    assert_eq!(begin(&mut table), [id.0]);
}

#[test]
fn what_the_user_wants_holds_whatever_a_task_says_later() {
    let mut table = empty();
    let now = Instant::now();
    let id = table.add(new(1, BEN, pull()), now).unwrap();
    begin(&mut table);
    table.pause(id).unwrap();
    assert!(table.is_stopped(id));
    // Resumed before the task has ended: nobody else works on it until then.
    table.resume(id).unwrap();
    assert_eq!(begin(&mut table), [0; 0]);
    table.ended(id, End::Stopped, now);
    assert_eq!(begin(&mut table), [1]);
    table.pause(id).unwrap();
    table.ended(id, End::Fail(Problem::task()), now);
    assert_eq!(state(&table, id), TransferState::Paused);
    table.connection(BEN, true);
    table.due(now + Duration::from_secs(1000));
    assert_eq!(begin(&mut table), [0; 0]);

    table.resume(id).unwrap();
    begin(&mut table);
    table.cancel(id).unwrap();
    assert!(table.is_stopped(id));
    assert_eq!(begin(&mut table), [0; 0]);
    table.ended(id, End::Stopped, now);
    let cleaning = table.begin(|_| false, now);
    assert_eq!(cleaning.len(), 1);
    assert_eq!(cleaning[0].1, Work::Clean);
    table.ended(id, End::Cleaned, now);
    assert_eq!((begin(&mut table), state(&table, id)), (vec![], TransferState::Cancelled));
    assert_eq!(table.resume(id), Err(Refused::Over(TransferState::Cancelled)));
    assert_eq!(table.cancel(TransferId(77)), Err(Refused::Unknown));
}

#[test]
fn what_is_in_its_place_is_done_though_it_was_given_up_meanwhile() {
    let mut table = empty();
    let id = table.add(new(1, BEN, pull()), Instant::now()).unwrap();
    begin(&mut table);
    table.cancel(id).unwrap();
    table.ended(id, End::Done { note: None }, Instant::now());
    assert_eq!((state(&table, id), begin(&mut table)), (TransferState::Done, vec![]));
    assert_eq!(table.pause(id), Err(Refused::Over(TransferState::Done)));
}

#[test]
fn a_restart_goes_on_and_what_is_received_waits_for_its_offer() {
    let mut table = empty();
    let now = Instant::now();
    let pulled = table.add(new(1, BEN, pull()), now).unwrap();
    let paused = table.add(new(2, BEN, pull()), now).unwrap();
    let received = receiving(&mut table, 3);
    table.reported(BEN, report(4, false, Told::Running), now);
    begin(&mut table);
    table.pause(paused).unwrap();
    let given_up = table.add(new(5, BEN, pull()), now).unwrap();
    table.cancel(given_up).unwrap();

    let mut table = Table::load(table.list(), 2, now);
    // What a contact pulls tells it again itself.
    assert_eq!(table.items.len(), 4);
    assert_eq!(begin(&mut table), [pulled.0, given_up.0]);
    assert_eq!(state(&table, paused), TransferState::Paused);
    table.connection(BEN, true);
    assert_eq!(state(&table, received), TransferState::Waiting);
    // Its sender is told that it waits, and offers it again.
    assert!(table.take_reports(true).iter().any(|(id, _, report)| *id == received && report.push));
    assert_eq!(table.offered(BEN, &offer(3), Some(Path::new("/in"))), Some(OfferAnswer::Accepted));
    assert_eq!(begin(&mut table), [received.0]);
}

#[test]
fn an_offer_is_known_by_its_key_and_its_contact() {
    let mut table = empty();
    assert_eq!(table.offered(BEN, &offer(1), Some(Path::new("/in"))), None);
    let id = receiving(&mut table, 1);
    assert_eq!(table.offered(CLEO, &offer(1), Some(Path::new("/in"))), None);
    // Paused by the user it stays so; paused by its sender it goes on when its sender wants it to.
    table.pause(id).unwrap();
    assert_eq!(table.offered(BEN, &offer(1), Some(Path::new("/in"))), Some(OfferAnswer::Accepted));
    assert_eq!(state(&table, id), TransferState::Paused);
    table.resume(id).unwrap();
    table.reported(BEN, report(1, true, Told::Paused), Instant::now());
    assert_eq!(state(&table, id), TransferState::Paused);
    table.offered(BEN, &offer(1), Some(Path::new("/in")));
    assert_eq!(state(&table, id), TransferState::Queued);
    table.cancel(id).unwrap();
    assert_eq!(table.offered(BEN, &offer(1), Some(Path::new("/in"))), Some(OfferAnswer::Cancelled));
    // My own push under the same key is nothing that can be offered to me.
    let mine = table.add(new(2, BEN, push()), Instant::now()).unwrap();
    assert_eq!(table.offered(BEN, &offer(2), Some(Path::new("/in"))), Some(OfferAnswer::NotWanted));
    assert_eq!(state(&table, mine), TransferState::Queued);
}

#[test]
fn a_contact_has_no_more_than_its_share() {
    let mut table = empty();
    for key in 0..PER_CONTACT {
        receiving(&mut table, key as u8);
    }
    let job = Job::Receive { folder: Hex(b"/in".to_vec()), name: None };
    let more = table.receive(new(200, BEN, job), root(), Amounts::default(), Instant::now());
    assert_eq!(more, Err(Refused::TooMany));
    for key in 0..=255 {
        table.reported(CLEO, report(key, false, Told::Running), Instant::now());
    }
    let theirs = table.items.values().filter(|item| item.record.contact() == CLEO).count();
    assert_eq!(theirs, PER_CONTACT);
    // What is over is forgotten some time.
    let mut table = empty();
    for _ in 0..HISTORY + 20 {
        let id = table.add(new(1, BEN, push()), Instant::now()).unwrap();
        table.cancel(id).unwrap();
    }
    table.add(new(1, BEN, push()), Instant::now()).unwrap();
    assert_eq!(table.items.len(), HISTORY + 1);
}

#[test]
fn both_sides_of_a_push_agree() {
    let now = Instant::now();
    let (mut sender, mut receiver) = (empty(), empty());
    let sent = sender.add(new(1, BEN, push()), now).unwrap();
    let (_, work) = sender.begin(|_| true, now).pop().unwrap();
    assert_eq!(work, Work::Offer);
    let received = receiving(&mut receiver, 1);
    sender.ended(sent, End::Offered { accepted: true }, now);
    assert!(sender.is_offered(BEN, TransferKey([1; 16])));

    // Tells each what the other says, until nobody says anything.
    let talk = |sender: &mut Table, receiver: &mut Table| {
        for _ in 0..5 {
            for (_, _, report) in receiver.take_reports(true) {
                if sender.reported(BEN, report, now) == Standing::Ended {
                    receiver.withdrawn(received);
                }
            }
            for (_, _, report) in sender.take_reports(true) {
                receiver.reported(BEN, report, now);
            }
        }
        (state(sender, sent), state(receiver, received))
    };
    use TransferState::{Cancelled, Done, Paused, Running, Waiting};
    assert_eq!(begin(&mut receiver), [received.0]);
    assert_eq!(talk(&mut sender, &mut receiver), (Running, Running));
    receiver.pause(received).unwrap();
    assert_eq!(talk(&mut sender, &mut receiver), (Paused, Paused));
    receiver.ended(received, End::Stopped, now);
    receiver.resume(received).unwrap();
    begin(&mut receiver);
    assert_eq!(talk(&mut sender, &mut receiver), (Running, Running));

    sender.pause(sent).unwrap();
    assert!(!sender.is_offered(BEN, TransferKey([1; 16])));
    assert_eq!(talk(&mut sender, &mut receiver), (Paused, Paused));
    receiver.ended(received, End::Stopped, now);
    sender.resume(sent).unwrap();
    // What the receiver says of the pause when it is connected anew does not undo that.
    receiver.tell_again(BEN);
    assert_eq!(talk(&mut sender, &mut receiver).0, TransferState::Queued);
    assert_eq!(sender.begin(|_| true, now).pop().unwrap().1, Work::Offer);
    assert_eq!(receiver.offered(BEN, &offer(1), Some(Path::new("/in"))), Some(OfferAnswer::Accepted));
    sender.ended(sent, End::Offered { accepted: true }, now);
    begin(&mut receiver);
    assert_eq!(talk(&mut sender, &mut receiver), (Running, Running));

    // The connection goes, and comes back.
    sender.connection(BEN, false);
    receiver.ended(received, wait_for_contact(), now);
    assert_eq!((state(&sender, sent), state(&receiver, received)), (Waiting, Waiting));
    sender.connection(BEN, true);
    receiver.connection(BEN, true);
    assert_eq!(sender.begin(|_| true, now).pop().unwrap().1, Work::Offer);
    receiver.offered(BEN, &offer(1), Some(Path::new("/in")));
    sender.ended(sent, End::Offered { accepted: true }, now);
    begin(&mut receiver);
    assert_eq!(talk(&mut sender, &mut receiver), (Running, Running));

    let mut finished = (Table::load(sender.list(), 2, now), Table::load(receiver.list(), 2, now));
    receiver.ended(received, End::Done { note: None }, now);
    assert_eq!(talk(&mut sender, &mut receiver), (Done, Done));

    // The other end of the story: it was given up while the other side was away.
    let (sender, receiver) = (&mut finished.0, &mut finished.1);
    sender.cancel(sent).unwrap();
    sender.take_reports(true);
    receiver.connection(BEN, true);
    receiver.tell_again(BEN);
    assert_eq!(talk(sender, receiver), (Cancelled, Cancelled));
}

#[test]
fn a_contact_that_is_no_more_takes_its_transfers_with_it() {
    let mut table = empty();
    let gone = table.add(new(1, BEN, pull()), Instant::now()).unwrap();
    let stays = table.add(new(2, CLEO, pull()), Instant::now()).unwrap();
    table.forget(|contact| contact == CLEO);
    assert_eq!(
        (state(&table, gone), state(&table, stays)),
        (TransferState::Cancelled, TransferState::Queued)
    );
    assert!(table.take_reports(true).iter().all(|(id, _, _)| *id == stays));
}

#[test]
fn a_pull_that_is_done_is_not_shown_as_running_by_a_report_that_comes_late() {
    let mut table = empty();
    table.reported(BEN, report(1, false, Told::Done), Instant::now());
    table.reported(BEN, report(1, false, Told::Running), Instant::now());
    assert_eq!(state(&table, TransferId(1)), TransferState::Done);
}

#[test]
fn no_reason_is_longer_than_a_status_bears() {
    let mut table = empty();
    let id = table.add(new(1, BEN, pull()), Instant::now()).unwrap();
    begin(&mut table);
    let problem = Problem { reason: "ü".repeat(100_000), ..Problem::task() };
    table.ended(id, End::Fail(problem), Instant::now());
    let record = &table.items[&id].record;
    assert!(record.reason.as_ref().unwrap().len() <= REASON_BYTES + "…".len());
    assert_eq!(record.class, Some(crate::error::ErrorClass::Internal));
}

#[test]
fn two_offers_of_one_push_at_the_same_time_are_received_once() {
    let mut table = empty();
    assert_eq!(
        (
            table.offered(BEN, &offer(1), Some(Path::new("/in"))),
            table.offered(BEN, &offer(1), Some(Path::new("/in")))
        ),
        (None, None)
    );
    assert_eq!(receiving(&mut table, 1), receiving(&mut table, 1));
    assert_eq!(begin(&mut table), [1]);
}

/// A push that the user has not decided on.
fn offering(table: &mut Table, key: u8) -> Result<TransferId, Refused> {
    table.receive(new(key, BEN, Job::Offered), root(), Amounts::default(), Instant::now())
}

#[test]
fn an_offer_waits_for_the_user_over_a_restart() {
    let now = Instant::now();
    let mut table = empty();
    let (taken, declined) = (offering(&mut table, 1).unwrap(), offering(&mut table, 2).unwrap());
    assert_eq!(begin(&mut table), [0; 0]);
    assert_eq!((table.pause(taken), table.resume(taken)), (Err(Refused::Offered), Err(Refused::Offered)));
    let told: Vec<_> = table.take_reports(true).into_iter().map(|(_, _, report)| report.state).collect();
    assert_eq!(told, [Told::Offered, Told::Offered]);

    let mut table = Table::load(table.list(), 2, now);
    assert_eq!(state(&table, taken), TransferState::Offered);
    assert_eq!(table.offered(BEN, &offer(1), None), Some(OfferAnswer::Pending));
    table.accept(taken, Path::new("/here")).unwrap();
    assert_eq!(table.accept(taken, Path::new("/there")), Err(Refused::NotOffered));
    assert_eq!(begin(&mut table), [taken.0]);
    let job = &table.items[&taken].record.job;
    assert_eq!(*job, Job::Receive { folder: Hex(b"/here".to_vec()), name: None });
    // Offered again it goes on, though the contact may push nothing else.
    table.ended(taken, wait_for_contact(), now);
    assert_eq!(table.offered(BEN, &offer(1), None), Some(OfferAnswer::Accepted));
    assert_eq!(state(&table, taken), TransferState::Queued);

    // Nothing of it was offered since the restart: it is given up all the same, and its sender hears why.
    table.decline(declined).unwrap();
    let told = table.take_reports(true).into_iter().find(|(id, _, _)| *id == declined).unwrap().2;
    assert_eq!((told.state, told.reason.as_str()), (Told::Cancelled, "it was declined"));
    assert_eq!(table.offered(BEN, &offer(2), None), Some(OfferAnswer::Cancelled));
}

#[test]
fn offers_are_few_and_a_standing_permission_takes_them_all() {
    let mut table = empty();
    let ids: Vec<_> = (0..OFFERED).map(|key| offering(&mut table, key as u8).unwrap()).collect();
    assert_eq!(offering(&mut table, 100), Err(Refused::TooMany));
    // Others have room of their own.
    table.receive(new(101, CLEO, Job::Offered), root(), Amounts::default(), Instant::now()).unwrap();
    receiving(&mut table, 102);
    table.accept_all(BEN, Path::new("/in"));
    assert!(ids.iter().all(|id| state(&table, *id) == TransferState::Queued));
    offering(&mut table, 100).unwrap();
}

#[test]
fn a_permission_that_is_withdrawn_holds_up_what_it_let_in() {
    let mut table = empty();
    let id = receiving(&mut table, 1);
    assert_eq!(table.offered(BEN, &offer(1), None), Some(OfferAnswer::NotWanted));
    assert_eq!(table.offered(BEN, &offer(1), Some(Path::new("/in"))), Some(OfferAnswer::Accepted));
    assert_eq!(state(&table, id), TransferState::Queued);
}

#[test]
fn an_offer_ends_with_what_its_sender_makes_of_it() {
    let now = Instant::now();
    let (mut sender, mut receiver) = (empty(), empty());
    let sent = sender.add(new(1, BEN, push()), now).unwrap();
    sender.begin(|_| true, now);
    let received = offering(&mut receiver, 1).unwrap();
    sender.ended(sent, End::Offered { accepted: false }, now);
    let reason = |table: &Table| table.items[&sent].record.reason.clone();
    assert_eq!(reason(&sender).as_deref(), Some(NOT_ACCEPTED));
    // It is not offered again and again while the user thinks.
    for (_, _, report) in receiver.take_reports(true) {
        sender.reported(BEN, report, now);
    }
    sender.connection(BEN, true);
    sender.due(now + Duration::from_secs(100));
    assert_eq!((begin(&mut sender), reason(&sender).as_deref()), (vec![], Some(NOT_ACCEPTED)));

    sender.cancel(sent).unwrap();
    for (_, _, report) in sender.take_reports(true) {
        receiver.reported(BEN, report, now);
    }
    assert_eq!(state(&receiver, received), TransferState::Cancelled);

    // Or its sender knows nothing of it any more.
    let other = offering(&mut receiver, 2).unwrap();
    receiver.tell_again(BEN);
    for (id, _, report) in receiver.take_reports(true) {
        if sender.reported(BEN, report, now) == Standing::Ended {
            receiver.withdrawn(id);
        }
    }
    assert_eq!(state(&receiver, other), TransferState::Cancelled);
}

#[test]
fn what_was_said_earlier_and_comes_later_changes_nothing() {
    let now = Instant::now();
    let mut table = empty();
    let id = table.add(new(1, BEN, push()), now).unwrap();
    begin(&mut table);
    table.ended(id, End::Offered { accepted: true }, now);
    let (early, late) = (report(1, true, Told::Failed), report(1, true, Told::Running));
    table.reported(BEN, late, now);
    assert_eq!(table.reported(BEN, early, now), Standing::Open);
    assert_eq!(state(&table, id), TransferState::Running);
    // Another run of the other side begins anew.
    let sequence = Sequence { run: 100, number: 0 };
    table.reported(BEN, Report { sequence, ..report(1, true, Told::Paused) }, now);
    assert_eq!(state(&table, id), TransferState::Paused);

    // A pause that comes after the offer that ended it.
    let mut receiver = empty();
    let received = receiving(&mut receiver, 2);
    let paused = report(2, true, Told::Paused);
    receiver.offered(BEN, &offer(2), Some(Path::new("/in")));
    receiver.reported(BEN, paused, now);
    assert_eq!(state(&receiver, received), TransferState::Queued);
}

#[test]
fn what_is_forgotten_leaves_nothing_and_is_not_received_again() {
    let now = Instant::now();
    let mut table = empty();
    let (received, failed) = (receiving(&mut table, 1), receiving(&mut table, 2));
    let running = table.add(new(3, BEN, pull()), now).unwrap();
    begin(&mut table);
    table.ended(received, End::Done { note: None }, now);
    table.ended(failed, End::Fail(Problem::task()), now);
    begin(&mut table);
    assert_eq!(table.discard(Some(vec![received, running])), Err((running, Refused::Unfinished)));
    assert_eq!(table.discard(Some(vec![TransferId(77)])), Err((TransferId(77), Refused::Unknown)));
    assert_eq!(table.statuses(|_| None).len(), 3);

    assert_eq!(table.discard(None), Ok(vec![received, failed]));
    let shown: Vec<_> = table.statuses(|_| None).into_iter().map(|status| status.id).collect();
    assert_eq!(shown, [running]);
    assert_eq!(table.resume(failed), Err(Refused::Unknown));
    // Its parts go first, also after a restart, and its sender hears that it is given up.
    table.take_reports(false);
    let mut again = Table::load(table.list(), 2, now);
    for table in [&mut table, &mut again] {
        let begun = table.begin(|_| false, now);
        let cleaned: Vec<_> = begun.iter().filter(|(_, work)| *work == Work::Clean).collect();
        assert_eq!(cleaned.iter().map(|(record, _)| record.id).collect::<Vec<_>>(), [failed]);
        table.ended(failed, End::Cleaned, now);
        assert_eq!(table.items.len(), 1);
        assert_eq!(table.offered(BEN, &offer(1), Some(Path::new("/in"))), Some(OfferAnswer::Received));
        assert_eq!(table.offered(BEN, &offer(2), Some(Path::new("/in"))), Some(OfferAnswer::Cancelled));
        assert_eq!(table.offered(CLEO, &offer(1), Some(Path::new("/in"))), None);
    }
    let mut sender = empty();
    let sent = sender.add(new(1, BEN, push()), now).unwrap();
    begin(&mut sender);
    sender.ended(sent, End::Received, now);
    assert_eq!(state(&sender, sent), TransferState::Done);
}

#[test]
fn what_was_trimmed_is_not_received_again_either_and_that_is_bounded() {
    let now = Instant::now();
    let mut table = empty();
    let key = |number: u32| {
        let mut key = [0; 16];
        key[..4].copy_from_slice(&number.to_be_bytes());
        TransferKey(key)
    };
    let all = u32::try_from(HISTORY + REMEMBERED + 5).unwrap();
    for number in 0..all {
        let job = Job::Receive { folder: Hex(b"/in".to_vec()), name: None };
        let id = table.receive(New { key: key(number), ..new(0, BEN, job) }, root(), Amounts::default(), now);
        table.ended(id.unwrap(), End::Done { note: None }, now);
    }
    let mut answer = |number| {
        let offer = farhold_wire::Offer { key: key(number), ..offer(0) };
        table.offered(BEN, &offer, Some(Path::new("/in")))
    };
    assert_eq!([answer(4), answer(5)], [None, Some(OfferAnswer::Received)]);
    assert_eq!(answer(all - 1), Some(OfferAnswer::Accepted));
    assert_eq!(table.list().former.len(), REMEMBERED);
    table.forget(|_| false);
    assert_eq!(table.list().former.len(), 0);
}
