use std::collections::HashSet;

use proptest::prelude::*;

use super::*;

fn key(entry: u8, epoch: u64, counter: u64) -> ContentKey {
    ContentKey { contact: [1; 16], entry: [entry; 16], epoch, counter }
}

fn id(key: ContentKey, index: u64) -> BlockId {
    BlockId { key, index }
}

/// Two blocks in a segment.
const GEOMETRY: Geometry = Geometry { unit: 4096, slots: 2 };
/// What a segment and its folder take up beside the blocks in it.
const FIRST: u64 = 2 * (4096 + 128);

fn ready(limit: u64) -> Index {
    let mut index = Index::new(limit);
    index.set_geometry(GEOMETRY);
    index.finish_scan();
    index
}

fn put(index: &mut Index, id: BlockId) {
    assert!(matches!(index.room(&id, 1000), Room::Reserved(_)), "no room for {id:?}");
    index.commit(&id, 1000, 0);
}

fn remove(index: &mut Index, id: &BlockId) {
    let taken = index.take(id).unwrap();
    index.removed(&taken);
}

#[test]
fn the_least_recently_used_goes_first() {
    let mut index = ready(1 << 20);
    let key = key(1, 1, 1);
    (0..4).for_each(|number| put(&mut index, id(key, number)));
    index.touch(&id(key, 0), 0);
    index.touch(&id(key, 2), 0);
    for expected in [1, 3, 0, 2] {
        let oldest = index.oldest().unwrap();
        assert_eq!(oldest, id(key, expected));
        remove(&mut index, &oldest);
    }
    assert_eq!(index.oldest(), None);
    assert_eq!(index.used(), 0, "nothing is left, no folder either");
    assert!(index.contents.is_empty() && index.versions.is_empty() && index.numbers.is_empty());
    assert!(index.folders.is_empty());
}

#[test]
fn superseded_versions_go_before_all_others() {
    let mut index = ready(1 << 20);
    put(&mut index, id(key(2, 1, 1), 0));
    put(&mut index, id(key(1, 1, 5), 0));
    index.touch(&id(key(1, 1, 5), 0), 0);
    assert_eq!(index.oldest().unwrap().key, key(2, 1, 1));
    index.open(key(1, 1, 6));
    assert_eq!(index.oldest().unwrap().key, key(1, 1, 5), "a newer version is read");
    put(&mut index, id(key(1, 1, 6), 0));
    assert_eq!(index.superseded_by(&key(1, 1, 6)), [id(key(1, 1, 5), 0)]);
    assert_eq!(index.superseded_by(&key(1, 1, 5)), []);
    index.open(key(1, 1, 5));
    assert_eq!(index.superseded_by(&key(1, 1, 6)), [], "somebody reads it");
    assert_eq!(index.oldest().unwrap().key, key(1, 1, 5));
    assert!(index.close(key(1, 1, 5)));
    assert_eq!(index.superseded_by(&key(1, 1, 6)).len(), 1);
    remove(&mut index, &id(key(1, 1, 6), 0));
    assert!(index.close(key(1, 1, 6)));
    assert_eq!(index.oldest().unwrap().key, key(2, 1, 1), "without the newer version it is an ordinary one");
}

#[test]
fn of_two_epochs_the_one_seen_later_is_newer() {
    let mut index = ready(1 << 20);
    put(&mut index, id(key(1, 9, 50), 0));
    put(&mut index, id(key(1, 4, 1), 0));
    assert_eq!(index.superseded_by(&key(1, 4, 1)), [id(key(1, 9, 50), 0)]);
    put(&mut index, id(key(1, 9, 50), 1));
    assert_eq!(index.superseded_by(&key(1, 9, 50)), [], "and stays so");
}

#[test]
fn the_order_survives_a_restart_and_use_comes_before_it() {
    let mut index = Index::new(1 << 20);
    index.set_geometry(GEOMETRY);
    let found = |index, modified| Found { index, length: 1000, modified };
    assert!(!index.is_listed(&key(1, 1, 1)));
    index.adopt(key(1, 1, 1), &[found(0, 500), found(1, 100), found(2, u64::MAX)]);
    assert!(index.is_listed(&key(1, 1, 1)));
    index.adopt(key(1, 1, 1), &[found(7, 1)]);
    assert!(!index.contains(&id(key(1, 1, 1), 7), 1000), "only the first listing counts");
    index.adopt(key(2, 1, 1), &[found(0, 300)]);
    index.finish_scan();
    assert!(index.is_listed(&key(9, 9, 9)));
    put(&mut index, id(key(3, 1, 1), 0));
    index.touch(&id(key(1, 1, 1), 1), 0);
    let mut order = Vec::new();
    while let Some(oldest) = index.oldest() {
        order.push((oldest.key.entry[0], oldest.index));
        remove(&mut index, &oldest);
    }
    assert_eq!(order, [(2, 0), (1, 0), (1, 2), (3, 0), (1, 1)]);
    assert_eq!(index.used(), 0);
}

#[test]
fn a_block_of_another_length_is_replaced() {
    let mut index = ready(1 << 20);
    let id = id(key(1, 1, 1), 0);
    put(&mut index, id);
    assert!(index.contains(&id, 1000) && !index.contains(&id, 999));
    assert_eq!(index.room(&id, 1000), Room::Present);
    assert_eq!(index.room(&id, 999), Room::Evict(id));
}

#[test]
fn modification_times_are_refreshed_at_most_once_an_hour() {
    let mut index = ready(1 << 20);
    let id = id(key(1, 1, 1), 0);
    assert!(!index.touch(&id, 9_000));
    put(&mut index, id);
    assert!(!index.touch(&id, 3600));
    assert!(index.touch(&id, 3601));
    assert!(!index.touch(&id, 3602));
    assert!(index.touch(&id, 7300));
}

#[test]
fn what_is_larger_than_the_limit_has_no_room() {
    let mut index = ready(4096 + FIRST);
    assert_eq!(index.room(&id(key(1, 1, 1), 0), 5000), Room::Never);
    put(&mut index, id(key(1, 1, 1), 0));
    assert_eq!(index.used(), index.limit());
    assert_eq!(index.room(&id(key(2, 1, 1), 0), 1000), Room::Evict(id(key(1, 1, 1), 0)));
    index.set_limit(100).unwrap();
    assert_eq!(index.over_limit(), Some(id(key(1, 1, 1), 0)));
}

#[test]
fn room_is_taken_until_the_file_is_gone() {
    let mut index = ready(1 << 20);
    let id = id(key(1, 1, 1), 0);
    put(&mut index, id);
    let used = index.used();
    let taken = index.take(&id).unwrap();
    assert!(taken.last && !index.contains(&id, 1000));
    assert_eq!(index.used(), used);
    index.restore(&taken);
    assert!(index.contains(&id, 1000));
    assert_eq!(index.used(), used);
    remove(&mut index, &id);
    assert_eq!(index.used(), 0);
    assert_eq!(index.room(&id, 1000), Room::Reserved(used));
    assert_eq!(index.used(), used);
    index.cancel(&id, 1000);
    assert_eq!(index.used(), 0);
}

#[test]
fn scopes_hold_what_they_name() {
    let mut index = ready(1 << 20);
    let foreign = ContentKey { contact: [2; 16], ..key(1, 1, 1) };
    for key in [key(1, 1, 1), key(1, 1, 2), key(2, 1, 1), foreign] {
        put(&mut index, id(key, 0));
    }
    assert_eq!(index.within(Scope::All).len(), 4);
    assert_eq!(index.within(Scope::Contact([1; 16])).len(), 3);
    assert_eq!(index.within(Scope::Entry([1; 16], [1; 16])).len(), 2);
    assert_eq!(index.within(Scope::Entry([2; 16], [2; 16])).len(), 0);
}

#[test]
fn what_is_pinned_never_goes() {
    let mut index = ready(100_000);
    let (pinned, other) = (key(1, 1, 1), key(2, 1, 1));
    put(&mut index, id(pinned, 0));
    index.pin(pinned, 2000).unwrap();
    index.pin(pinned, 2000).unwrap();
    put(&mut index, id(pinned, 1));
    put(&mut index, id(other, 0));
    put(&mut index, id(key(1, 1, 2), 0));
    assert_eq!(index.superseded_by(&key(1, 1, 2)), [], "not even when there is a newer version");
    assert_eq!(index.within(Scope::All).len(), 2);
    remove(&mut index, &id(other, 0));
    remove(&mut index, &id(key(1, 1, 2), 0));
    assert_eq!(index.oldest(), None);
    let needed = GEOMETRY.content_charge(2000);
    assert_eq!(index.set_limit(needed - 1), Err(PinError { needed, limit: needed - 1 }));
    assert_eq!(index.limit(), 100_000);
    index.set_limit(needed).unwrap();
    let both = needed + GEOMETRY.content_charge(1);
    assert_eq!(index.pin(other, 1), Err(PinError { needed: both, limit: needed }));
    index.unpin(&pinned);
    assert_eq!(index.oldest(), Some(id(pinned, 0)));
    index.pin(other, 1).unwrap();
}

#[test]
fn a_segment_goes_at_once_unless_something_else_is_in_it() {
    let mut index = ready(1 << 20);
    let key = key(1, 1, 1);
    (0..4).for_each(|number| put(&mut index, id(key, number)));
    let taken = index.take_segment(&id(key, 3));
    assert_eq!((taken.blocks.len(), taken.whole), (2, true));
    taken.blocks.iter().for_each(|block| index.removed(block));
    let other = index.take(&id(key, 0)).unwrap();
    assert!(!other.last);
    let taken = index.take_segment(&id(key, 1));
    assert_eq!((taken.blocks.len(), taken.whole), (1, false), "a slot is not free yet");
    taken.blocks.iter().for_each(|block| index.removed(block));
    index.removed(&other);
    assert_eq!(index.used(), 0);
}

#[test]
fn numbers_become_ranges() {
    assert_eq!(ranges([]), []);
    assert_eq!(ranges([0, 1, 2, 5, 7, 8]), [0..3, 5..6, 7..9]);
}

proptest! {
    /// Whatever happens, what is used is the sum of what is there, and never more than the limit.
    #[test]
    fn sums_hold(steps in prop::collection::vec((0..10u8, 0..3u8, 0..3u64, 0..4u64), 0..300)) {
        let limit = 60_000;
        let mut index = ready(limit);
        let mut readers = Vec::new();
        for (action, entry, counter, number) in steps {
            let block = id(key(entry, counter % 2, counter), number);
            match action {
                0 | 1 => loop {
                    match index.room(&block, 1000 * (number + 1)) {
                        Room::Evict(victim) => remove(&mut index, &victim),
                        Room::Reserved(_) if action == 1 => {
                            index.cancel(&block, 1000 * (number as u32 + 1));
                            break;
                        }
                        Room::Reserved(_) => {
                            index.commit(&block, 1000 * (number as u32 + 1), 0);
                            break;
                        }
                        Room::Present | Room::Never => break,
                    }
                },
                2 => { index.touch(&block, 0); }
                3 => {
                    index.open(block.key);
                    readers.push(block.key);
                }
                4 => if let Some(key) = readers.pop() {
                    index.close(key);
                },
                5 => for old in index.superseded_by(&block.key) {
                    let taken = index.take_segment(&old);
                    prop_assert!(taken.whole);
                    taken.blocks.iter().for_each(|block| index.removed(block));
                },
                7 => { index.pin(block.key, 2000).ok(); }
                8 => index.unpin(&block.key),
                _ => if let Some(taken) = index.take(&block) {
                    index.restore(&taken);
                },
            }
            let contents = index.contents.values();
            let charges: u64 = contents.clone().flat_map(|content| content.blocks.values())
                .map(|block| GEOMETRY.charge(block.length.into())).sum();
            let segments = contents.clone().flat_map(|content| {
                content.blocks.keys().map(|index| (content.key, index / GEOMETRY.slots))
            });
            let segments = segments.collect::<HashSet<_>>().len() as u64;
            let folder = if segments > 0 { GEOMETRY.folder_charge() } else { 0 };
            prop_assert_eq!(index.used(), charges + segments * GEOMETRY.segment_charge() + folder);
            prop_assert!(index.used() <= limit);
            let pinned = |content: &&Content| content.standing == Standing::Pinned;
            let blocks: usize = contents.clone().filter(|content| !pinned(content))
                .map(|content| content.blocks.len()).sum();
            prop_assert_eq!(index.orders.superseded.len() + index.orders.current.len(), blocks);
            prop_assert_eq!(index.contents.len(), index.numbers.len());
            for content in contents.clone() {
                prop_assert_eq!(pinned(&content), index.pins.contains(&content.key));
                let newer = contents.clone().filter(|other| other.key.entry == content.key.entry);
                let superseded = newer.clone().any(|newer| supersedes(newer, content));
                let order = match content.standing {
                    Standing::Pinned => continue,
                    Standing::Superseded => &index.orders.superseded,
                    Standing::Current => &index.orders.current,
                };
                prop_assert_eq!(content.standing == Standing::Superseded, superseded);
                let number = index.numbers[&content.key];
                for (at, block) in &content.blocks {
                    prop_assert!(order.contains(&(block.stamp, number, *at)));
                }
                prop_assert!(content.readers > 0 || !content.blocks.is_empty());
            }
        }
    }
}
