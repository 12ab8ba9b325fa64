use farhold_secure::Identity;
use proptest::prelude::*;

use super::file::ContactsFile;
use super::*;
use crate::secrets::{MasterKey, SecretsError};

fn code(seed: u8) -> Code {
    Code::from_bytes([seed; 64])
}

fn book(names: &[&str]) -> ContactBook {
    let mut book = ContactBook::default();
    for (index, name) in names.iter().enumerate() {
        book.add(&code(0), name, code(index as u8 + 1)).unwrap();
    }
    book
}

fn names(book: &ContactBook) -> Vec<&str> {
    book.iter().map(|contact| contact.name.as_str()).collect()
}

fn bond() -> (Code, Bond) {
    let identity = Identity::generate().unwrap();
    let secret = PairSecret::from_bytes(&[7; 32]);
    (*identity.code(), Bond { keys: identity.public().clone(), secret })
}

#[test]
fn names_and_codes_are_taken_once() {
    let mut book = book(&["ben", "Cleo"]);
    let mine = code(0);
    let taken = |name: &str| ContactError::NameTaken { name: name.into() };
    assert_eq!(book.add(&mine, "BEN", code(9)), Err(taken("ben")));
    assert_eq!(book.add(&mine, "dora", code(1)), Err(ContactError::CodeTaken { name: "ben".into() }));
    assert_eq!(book.add(&mine, "me", mine), Err(ContactError::OwnCode));
    assert_eq!(book.rename("ben", "cleo"), Err(taken("Cleo")));
    book.rename("ben", "Ben").unwrap();
    book.rename("Ben", "zoe").unwrap();
    assert_eq!(names(&book), ["Cleo", "zoe"]);
    assert_eq!(book.remove("ben").unwrap_err(), ContactError::Unknown { name: "ben".into() });
    book.remove("zoe").unwrap();
    assert_eq!(names(&book), ["Cleo"]);
}

#[test]
fn names_are_what_a_folder_can_be_called() {
    let mut book = ContactBook::default();
    for bad in ["", ".", "..", "a/b", "a\0", " a", "a ", ".a", "a.", "a\nb", &"x".repeat(256)] {
        let refused = book.add(&code(0), bad, code(1)).unwrap_err();
        assert!(matches!(refused, ContactError::Name { .. } | ContactError::NameUnclear { .. }), "{bad:?}");
        assert_eq!(refused.class(), ErrorClass::Usage);
    }
    for (index, good) in ["Anna Müller", "b.c", "😀", &"y".repeat(255)].iter().enumerate() {
        book.add(&code(0), good, code(index as u8 + 1)).unwrap();
    }
}

#[test]
fn there_is_a_bound() {
    let mut book = ContactBook::default();
    for index in 0..MOST {
        book.add(&code(0), &format!("c{index}"), code(index as u8 + 1)).unwrap();
    }
    assert_eq!(book.add(&code(0), "more", code(255)), Err(ContactError::TooMany));
}

#[test]
fn pairing_goes_forward_only_and_with_the_keys_of_the_code() {
    let (theirs, bond) = bond();
    let mut book = ContactBook::default();
    let id = book.add(&code(0), "ben", theirs).unwrap();
    let other = book.add(&code(0), "eve", code(9)).unwrap();
    assert!(!book.promote(id));
    assert!(!book.paired(other, bond.clone(), "words".into()));
    assert!(book.paired(id, bond, "words".into()));
    assert_eq!(book.get(id).unwrap().pairing.state(), PairingState::Provisional);
    assert!(book.promote(id));
    assert!(!book.promote(id));
    assert_eq!(book.get(id).unwrap().pairing.state(), PairingState::Paired);
    assert!(book.want(id, false));
    assert!(!book.want(id, false));
}

fn file(temp: &tempfile::TempDir) -> ContactsFile {
    let key = MasterKey::load(&temp.path().join("secret.key"), &[]).unwrap();
    ContactsFile::new(temp.path().join("contacts"), key)
}

#[test]
fn a_restart_finds_the_same_contacts() {
    let temp = tempfile::tempdir().unwrap();
    let (theirs, bond) = bond();
    let mut book = book(&["ben", "cleo"]);
    let id = book.add(&code(0), "dora", theirs).unwrap();
    book.paired(id, bond, "one two".into());
    book.want(id, false);
    assert_eq!(names(&file(&temp).load().unwrap()), [""; 0]);
    file(&temp).save(&book).unwrap();
    let loaded = file(&temp).load().unwrap();
    assert_eq!(names(&loaded), ["ben", "cleo", "dora"]);
    let dora = loaded.named("dora").unwrap();
    assert_eq!((dora.code, dora.wanted, dora.words.as_deref()), (theirs, false, Some("one two")));
    match &dora.pairing {
        Pairing::Provisional(bond) => assert_eq!(bond.secret.as_bytes(), &[7; 32]),
        Pairing::Pending | Pairing::Paired(_) => panic!("{:?}", dora.pairing),
    }
}

#[test]
fn what_contradicts_itself_is_damaged_and_another_schema_is_named() {
    let temp = tempfile::tempdir().unwrap();
    let key = MasterKey::load(&temp.path().join("secret.key"), &[]).unwrap();
    let path = temp.path().join("contacts");
    let record = |pairing: &str| {
        format!(
            r#"{{"version":1,"contacts":[{{"name":"a","code":"{}","pairing":"{pairing}","keys":null,"secret":null,"wanted":true,"words":null}}]}}"#,
            code(1)
        )
    };
    let load = |content: &str| {
        key.seal(&path, "contacts", content.as_bytes()).unwrap();
        let before = std::fs::read(&path).unwrap();
        let loaded = file(&temp).load();
        assert_eq!(std::fs::read(&path).unwrap(), before);
        loaded
    };
    assert_eq!(names(&load(&record("pending")).unwrap()), ["a"]);
    for content in ["", "{}", &record("paired"), &record("unheard")] {
        assert!(matches!(load(content), Err(SecretsError::Damaged { .. })), "{content}");
    }
    let newer = record("pending").replacen("\"version\":1", "\"version\":2", 1);
    assert!(matches!(load(&newer), Err(SecretsError::Schema { version: 2, .. })));
}

proptest! {
    /// Whatever is done, no two contacts share a name (in any case) or a code, and the order is by name.
    #[test]
    fn the_book_stays_sound(steps in prop::collection::vec((0u8..3, "[a-cA-C]{1,2}", "[a-c]{1,2}", 0u8..6), 0..40)) {
        let mut book = ContactBook::default();
        for (kind, one, other, seed) in steps {
            let _ = match kind {
                0 => book.add(&code(0), &one, code(seed)).map(drop),
                1 => book.rename(&one, &other).map(drop),
                _ => book.remove(&one).map(drop),
            };
            let names = names(&book);
            prop_assert!(names.is_sorted());
            let mut folded: Vec<_> = names.iter().map(|name| name.to_lowercase()).collect();
            folded.sort();
            folded.dedup();
            prop_assert_eq!(folded.len(), names.len());
            let mut codes: Vec<_> = book.iter().map(Contact::id).collect();
            codes.sort();
            codes.dedup();
            prop_assert_eq!(codes.len(), names.len());
            prop_assert!(!codes.contains(&id_of(&code(0))));
        }
    }
}
