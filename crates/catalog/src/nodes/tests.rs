use std::collections::HashSet;

use proptest::prelude::*;

use super::*;

fn key() -> impl Strategy<Value = NodeKey> {
    let contact = any::<[u8; 16]>().prop_map(ContactId);
    let entry = any::<[u8; 16]>().prop_map(EntryId);
    prop_oneof![
        contact.clone().prop_map(NodeKey::Contact),
        (contact.clone(), entry.clone(), any::<u64>())
            .prop_map(|(contact, entry, incarnation)| NodeKey::Peer { contact, entry, incarnation }),
        (contact, entry, any::<u64>()).prop_map(|(contact, entry, incarnation)| NodeKey::Mine {
            contact,
            entry,
            incarnation
        }),
        any::<(u64, u64, i64)>().prop_map(|(device, inode, born)| NodeKey::Object(Object {
            device,
            inode,
            born
        })),
    ]
}

proptest! {
    #[test]
    fn keys_come_back_as_they_were(key in key()) {
        prop_assert_eq!(NodeKey::decode(&key.encode()), Some(key));
    }

    #[test]
    fn any_bytes_are_refused_or_a_key(bytes in prop::collection::vec(any::<u8>(), 0..50)) {
        if let Some(key) = NodeKey::decode(&bytes) {
            prop_assert_eq!(key.encode(), bytes);
        }
    }
}

fn peer(contact: u8, entry: u32) -> NodeKey {
    let mut id = [0; 16];
    id[..4].copy_from_slice(&entry.to_be_bytes());
    NodeKey::Peer { contact: ContactId([contact; 16]), entry: EntryId(id), incarnation: 0 }
}

#[tokio::test]
async fn numbers_are_kept_across_a_restart_and_never_used_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("nodes.db");
    let nodes = Nodes::open(&path).await.unwrap();
    let keys: Vec<NodeKey> = (0..10_000).map(|entry| peer(1, entry)).collect();
    let first = nodes.numbers(keys.clone()).await.unwrap();
    let distinct: HashSet<u64> = first.iter().copied().collect();
    assert_eq!(distinct.len(), keys.len());
    assert!(!distinct.contains(&0) && !distinct.contains(&Nodes::ROOT));
    nodes.close().await;

    let nodes = Nodes::open(&path).await.unwrap();
    assert_eq!(nodes.numbers(keys.clone()).await.unwrap(), first);
    assert_eq!(nodes.key(first[77]).await.unwrap(), Some(keys[77]));
    nodes.forget_contact(ContactId([1; 16])).await.unwrap();
    assert_eq!(nodes.key(first[77]).await.unwrap(), None);
    let again = nodes.numbers(keys).await.unwrap();
    assert!(again.iter().all(|number| !distinct.contains(number)));
}

#[tokio::test]
async fn equal_keys_of_one_call_get_one_number() {
    let folder = tempfile::tempdir().unwrap();
    let nodes = Nodes::open(&folder.path().join("nodes.db")).await.unwrap();
    let numbers = nodes.numbers(vec![peer(1, 1), peer(2, 1), peer(1, 1)]).await.unwrap();
    assert_eq!(numbers[0], numbers[2]);
    assert_ne!(numbers[0], numbers[1]);
}

#[tokio::test]
async fn forgetting_a_contact_leaves_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let nodes = Nodes::open(&folder.path().join("nodes.db")).await.unwrap();
    let mine = NodeKey::Object(Object { device: 1, inode: 2, born: 3 });
    let numbers = nodes.numbers(vec![peer(1, 1), peer(2, 1), mine]).await.unwrap();
    nodes.forget_contact(ContactId([1; 16])).await.unwrap();
    assert_eq!(nodes.key(numbers[0]).await.unwrap(), None);
    assert_eq!(nodes.key(numbers[1]).await.unwrap(), Some(peer(2, 1)));
    assert_eq!(nodes.key(numbers[2]).await.unwrap(), Some(mine));
}
