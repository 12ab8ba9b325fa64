use proptest::prelude::*;

use super::*;

fn name(text: &str) -> Name {
    Name::new(text.to_owned()).unwrap()
}

fn known(row: i64, parent: i64, text: &str, object: (Kind, u64)) -> Known {
    Known { row, parent, name: name(text), object: (object.0, object.1, 0) }
}

fn slot(parent: i64, text: &str, object: (Kind, u64)) -> Slot {
    Slot { parent, name: name(text), object: (object.0, object.1, 0) }
}

const fn file(inode: u64) -> (Kind, u64) {
    (Kind::File, inode)
}

const fn folder(inode: u64) -> (Kind, u64) {
    (Kind::Folder, inode)
}

fn check(known: &[Known], slots: &[Slot], elsewhere: &[Known], fates: &[Fate], missing: &[i64]) {
    let found = assign(known, slots, elsewhere);
    assert_eq!(found.fates, fates);
    assert_eq!(found.missing, missing);
}

#[test]
fn what_is_unchanged_stays() {
    check(
        &[known(1, 9, "a", file(1)), known(2, 9, "b", folder(2))],
        &[slot(9, "b", folder(2)), slot(9, "a", file(1))],
        &[],
        &[Fate::Same(2), Fate::Same(1)],
        &[],
    );
}

#[test]
fn a_rename_keeps_the_id_within_and_across_folders() {
    check(
        &[known(1, 9, "a", file(1)), known(2, 9, "d", folder(2))],
        &[slot(8, "d2", folder(2)), slot(9, "b", file(1))],
        &[],
        &[Fate::Moved(2), Fate::Moved(1)],
        &[],
    );
    check(&[], &[slot(9, "b", file(1))], &[known(1, 7, "a", file(1))], &[Fate::Moved(1)], &[]);
}

#[test]
fn a_swap_exchanges_two_entries() {
    check(
        &[known(1, 9, "a", file(1)), known(2, 9, "b", file(2))],
        &[slot(9, "a", file(2)), slot(9, "b", file(1))],
        &[],
        &[Fate::Moved(2), Fate::Moved(1)],
        &[],
    );
}

#[test]
fn a_file_renamed_over_keeps_its_id_whether_the_other_was_known_or_not() {
    check(&[known(1, 9, "a", file(1))], &[slot(9, "a", file(5))], &[], &[Fate::Replaced(1)], &[]);
    check(
        &[known(1, 9, "a", file(1)), known(2, 9, "tmp", file(2))],
        &[slot(9, "a", file(2))],
        &[],
        &[Fate::Replaced(1)],
        &[2],
    );
}

#[test]
fn rotated_logs_follow_their_content_and_the_last_place_keeps_its_id() {
    check(
        &[known(1, 9, "log", file(1)), known(2, 9, "log.1", file(2)), known(3, 9, "log.2", file(3))],
        &[slot(9, "log", file(4)), slot(9, "log.1", file(1)), slot(9, "log.2", file(2))],
        &[],
        &[Fate::New, Fate::Moved(1), Fate::Replaced(3)],
        &[2],
    );
    check(
        &[known(1, 9, "log", file(1)), known(2, 9, "log.1", file(2))],
        &[slot(9, "log", file(4)), slot(9, "log.1", file(1))],
        &[],
        &[Fate::Replaced(1), Fate::Replaced(2)],
        &[],
    );
}

#[test]
fn another_kind_is_another_entry() {
    check(&[known(1, 9, "a", file(1))], &[slot(9, "a", folder(1))], &[], &[Fate::New], &[1]);
    check(&[known(1, 9, "a", folder(1))], &[slot(9, "a", folder(2))], &[], &[Fate::New], &[1]);
    check(
        &[known(1, 9, "a", folder(1)), known(2, 9, "b", folder(2))],
        &[slot(9, "b", folder(1))],
        &[],
        &[Fate::Moved(1)],
        &[2],
    );
}

#[test]
fn a_hard_link_is_an_entry_of_its_own() {
    check(
        &[known(1, 9, "a", file(1))],
        &[slot(9, "a", file(1)), slot(9, "b", file(1))],
        &[],
        &[Fate::Same(1), Fate::New],
        &[],
    );
}

/// Folder, name and object of each entry.
type Places = Vec<(i64, u8, u64)>;

fn world() -> impl Strategy<Value = (Places, Places)> {
    let places = || prop::collection::btree_map((1..3i64, 0..5u8), 1..9u64, 0..10);
    let list = |places: std::collections::BTreeMap<(i64, u8), u64>| {
        places.into_iter().map(|((parent, text), inode)| (parent, text, inode)).collect::<Vec<_>>()
    };
    (places().prop_map(list), places().prop_map(list))
}

fn object(inode: u64) -> (Kind, u64) {
    if inode > 6 { folder(inode) } else { file(inode) }
}

proptest! {
    #[test]
    fn each_slot_has_one_entry_and_each_entry_one_slot((before, after) in world(), split in any::<bool>()) {
        let entries: Vec<Known> = before.iter().enumerate().map(|(row, (parent, text, inode))| {
            known(row as i64, *parent, &format!("n{text}"), object(*inode))
        }).collect();
        // Either both folders are listed, or the second one is only known to have lost what it held.
        let (here, elsewhere): (Vec<_>, Vec<_>) =
            entries.iter().cloned().partition(|entry| !split || entry.parent == 1);
        let slots: Vec<Slot> = after.iter().filter(|(parent, ..)| !split || *parent == 1)
            .map(|(parent, text, inode)| slot(*parent, &format!("n{text}"), object(*inode))).collect();
        let found = assign(&here, &slots, &elsewhere);
        prop_assert_eq!(found.fates.len(), slots.len());
        let mut used = HashSet::new();
        for (slot, fate) in slots.iter().zip(&found.fates) {
            match *fate {
                Fate::Same(row) | Fate::Moved(row) => {
                    prop_assert!(used.insert(row));
                    prop_assert_eq!(entries[row as usize].object, slot.object);
                }
                Fate::Replaced(row) => {
                    prop_assert!(used.insert(row));
                    prop_assert_eq!(&entries[row as usize].name, &slot.name);
                    prop_assert_eq!(entries[row as usize].parent, slot.parent);
                    prop_assert_eq!(entries[row as usize].object.0, Kind::File);
                }
                Fate::New => {}
            }
        }
        // What has its place and object still is untouched, and nothing is both placed and missing.
        for entry in &here {
            let stays = slots.iter().position(|slot| {
                (slot.parent, &slot.name, slot.object) == (entry.parent, &entry.name, entry.object)
            });
            if let Some(index) = stays {
                prop_assert_eq!(found.fates[index], Fate::Same(entry.row));
            }
            prop_assert_eq!(used.contains(&entry.row), !found.missing.contains(&entry.row));
        }
    }
}
