//! Folders of which the replica does not know everything yet.

use std::time::Duration;

use farhold_vfs::VfsError;

use crate::Bench;
use crate::peer::{Mode, Peer};

#[tokio::test]
async fn names_and_listings_are_asked_for() {
    let bench = Bench::new().await;
    let bob = Peer::unknown(2, bench.replica(2).await);
    bob.show(&bench.drive, "bob", &bench.cache, true).await;
    let tree = bob.begun_folder("tree").await;
    bob.unannounced(Some(tree), "one", "1");
    bob.unannounced(Some(tree), "two", "2");

    assert_eq!(bench.read("bob/tree/one").await.unwrap(), "1");
    assert_eq!(bench.walk("bob/tree/none").await, Err(VfsError::NotFound));
    let asked = bob.asked();
    assert_eq!(bench.read("bob/tree/one").await.unwrap(), "1");
    assert_eq!(bob.asked(), asked, "a known name is answered from memory");

    assert_eq!(bench.names("bob/tree").await.unwrap(), ["one", "two"]);
    let asked = bob.asked();
    assert_eq!(bench.names("bob/tree").await.unwrap(), ["one", "two"]);
    assert_eq!(bench.walk("bob/tree/none").await, Err(VfsError::NotFound));
    assert_eq!(bob.asked(), asked, "a wholly known folder is answered from memory");
}

#[tokio::test]
async fn what_cannot_be_asked_is_an_error_and_not_an_absence() {
    let bench = Bench::with_wait(Duration::from_millis(200)).await;
    let bob = Peer::unknown(2, bench.replica(2).await);
    bob.show(&bench.drive, "bob", &bench.cache, true).await;
    let tree = bob.begun_folder("tree").await;
    bob.unannounced(Some(tree), "one", "1");
    bench.walk("bob/tree/one").await.unwrap();
    for (mode, error) in [(Mode::Offline, VfsError::Offline), (Mode::Silent, VfsError::TimedOut)] {
        bob.set_mode(mode);
        assert_eq!(bench.names("bob/tree").await, Err(error));
        assert_eq!(bench.walk("bob/tree/two").await, Err(error));
        assert_eq!(bench.walk("bob/other").await, Err(error), "a tree that may be there");
        // What is known is known.
        assert_eq!(bench.walk("bob/tree/one").await.unwrap().size, 1);
        assert_eq!(bench.names("bob").await.unwrap(), ["tree"]);
    }
}
