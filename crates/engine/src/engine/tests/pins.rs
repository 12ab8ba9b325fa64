//! What is pinned is whole, follows its home, and survives a restart.

use super::*;
use crate::{PinState, PinStatus};

fn pinned(engine: &Engine) -> PinStatus {
    let pins = engine.pinned();
    assert_eq!(pins.len(), 1, "{pins:?}");
    pins.into_iter().next().unwrap()
}

async fn wait_whole(engine: &Engine, files: u64, bytes: u64) {
    wait(&format!("{files} files of {bytes} bytes are whole"), async || {
        let pin = pinned(engine);
        let whole =
            pin.state == PinState::Whole && (pin.files, pin.bytes, pin.cached) == (files, bytes, bytes);
        whole.then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_pinned_is_fetched_follows_its_home_and_survives_a_restart() {
    let world = World::new();
    let (anna, ben) = (world.engine("anna").await, world.engine("ben").await);
    pair(&anna, &ben).await;
    ben.share(request(&world.shared())).await.unwrap();
    wait_names(&anna, "ben/shared/sub", &["file"]).await;
    let folder = drive_path("ben/shared");

    let size = content().len() as u64;
    anna.limit_cache(LEAST_CACHE_BYTES).await.unwrap();
    let pin = anna.pin(&folder).await.unwrap();
    assert_eq!(pin.path, "ben/shared");
    wait_whole(&anna, 1, size).await;
    assert_eq!(anna.status().unwrap().cache.fetched, size, "nobody read it");

    // Another file, and a new version of the first.
    std::fs::write(world.shared().join("sub/other"), vec![7; 1000]).unwrap();
    wait_whole(&anna, 2, size + 1000).await;
    std::fs::write(world.shared().join("sub/file"), "shorter").unwrap();
    wait_whole(&anna, 2, 1007).await;

    // It can be read without the contact, also after a restart and after everything else was dropped.
    ben.stop().await;
    anna.stop().await;
    let anna = world.engine("anna").await;
    wait_whole(&anna, 2, 1007).await;
    anna.drop_cache(None).await.unwrap();
    assert_eq!(read(&anna, "ben/shared/sub/file").await.unwrap(), b"shorter");
    assert_eq!(read(&anna, "ben/shared/sub/other").await.unwrap(), vec![7; 1000]);

    anna.unpin(&folder).await.unwrap();
    assert_eq!(anna.pinned(), []);
    let missing = anna.unpin(&folder).await.unwrap_err();
    assert_eq!(missing.class(), ErrorClass::NotFound);
    wait("it can be dropped again", async || {
        anna.drop_cache(None).await.unwrap();
        (anna.status().unwrap().cache.used == 0).then_some(())
    })
    .await;
    world.end(&[&anna]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_fit_is_refused() {
    let world = World::new();
    let (anna, ben) = (world.engine("anna").await, world.engine("ben").await);
    pair(&anna, &ben).await;
    let shared = world.shared();
    // As long as the cache may be, and takes up nothing.
    std::fs::File::create(shared.join("large")).unwrap().set_len(LEAST_CACHE_BYTES).unwrap();
    ben.share(request(&shared)).await.unwrap();
    wait_names(&anna, "ben/shared", &["large", "sub"]).await;
    anna.limit_cache(LEAST_CACHE_BYTES).await.unwrap();
    for path in ["ben/shared/large", "ben/shared", "ben"] {
        let error = anna.pin(&drive_path(path)).await.unwrap_err();
        assert_eq!(error.class(), ErrorClass::Refused, "{error}");
    }
    assert_eq!(anna.pinned(), []);
    let error = anna.pin(&drive_path("ben/nothing")).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::NotFound);
    world.end(&[&anna, &ben]).await;
}
