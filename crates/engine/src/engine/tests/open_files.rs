//! What is open through the drive, with its blocks.

use futures_util::StreamExt;

use super::*;
use crate::status::RunState;

#[tokio::test(flavor = "multi_thread")]
async fn open_files_show_their_blocks_and_readers() {
    let world = World::new();
    let (anna, ben) = (world.engine("anna").await, world.engine("ben").await);
    pair(&anna, &ben).await;
    ben.share(request(&world.shared())).await.unwrap();
    wait_names(&anna, "ben/shared/sub", &["file"]).await;
    assert_eq!(anna.open_files().await.unwrap(), []);

    let drive = &anna.inner.storage.drive;
    let mut node = NodeId::ROOT;
    for name in ["ben", "shared", "sub", "file"] {
        node = drive.lookup(node, name.as_bytes()).await.unwrap().node;
    }
    let first = drive.open_file(node, OpenMode::Read).await.unwrap().handle;
    let second = drive.open_file(node, OpenMode::Read).await.unwrap().handle;
    // The first read may find another version than was listed, of which nothing has been read yet.
    let file = wait("somebody has read", async || {
        drive.read(second, 2_000_000, 100).await.unwrap();
        let [file] = anna.open_files().await.unwrap().try_into().unwrap();
        (!file.playheads.is_empty()).then_some(file)
    })
    .await;
    assert_eq!(file.path, drive_path("ben/shared/sub/file"));
    assert_eq!((file.size, file.block_bytes, file.opens), (2_800_000, 256 << 10, 2));
    assert_eq!(file.playheads, [2_000_100]);
    assert!(file.hit_rate.is_some());
    // Bytes are passed on before their block is whole.
    wait("the block that was read is here", async || {
        let [file] = anna.open_files().await.unwrap().try_into().unwrap();
        file.runs.iter().any(|run| (run.state, run.start) == (RunState::Cached, 7)).then_some(())
    })
    .await;

    drive.release(first);
    drive.release(second);
    assert_eq!(anna.open_files().await.unwrap(), []);
    wait("the room on the disk is known", async || anna.status().unwrap().cache.disk_free.map(drop)).await;
    world.end(&[&anna, &ben]).await;
    assert!(anna.open_files().await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_watches_transfers_is_told_until_the_engine_stops() {
    let world = World::new();
    let anna = world.engine("anna").await;
    let ben = world.engine("ben").await;
    pair(&anna, &ben).await;
    let mut changes = anna.transfer_changes(Duration::from_millis(100));
    let first = changes.next().await.unwrap();
    assert!(first.complete && first.changed.is_empty());
    let id = anna.push(world.shared(), "ben").await.unwrap();
    let told = changes.next().await.unwrap();
    assert_eq!((told.changed[0].id, told.changed[0].contact.as_str()), (id, "ben"));
    anna.rename_contact("ben", "Ben").await.unwrap();
    let renamed =
        wait_for(&mut changes, |change| change.changed.iter().any(|status| status.contact == "Ben"));
    renamed.await;
    anna.cancel_transfer(id).await.unwrap();
    anna.forget_transfers(None).await.unwrap();
    wait_for(&mut changes, |change| change.removed == [id]).await;
    anna.stop().await;
    assert_eq!(changes.collect::<Vec<_>>().await, []);
    world.end(&[&anna, &ben]).await;
}

async fn wait_for(
    changes: &mut (impl futures_util::Stream<Item = crate::status::TransferChanges> + Unpin),
    found: impl Fn(&crate::status::TransferChanges) -> bool,
) {
    let search = async { while !found(&changes.next().await.expect("it goes on")) {} };
    tokio::time::timeout(WITHIN, search).await.expect("it is told");
}
