//! What the status tells of a connection at work.

use super::*;
use crate::status::RelayStateName;

#[tokio::test(flavor = "multi_thread")]
async fn a_status_tells_how_a_connection_works() {
    let world = World::new();
    let (anna, ben) = (world.engine("anna").await, world.engine("ben").await);
    pair(&anna, &ben).await;
    let before = anna.status().unwrap();
    assert_eq!(before.network.relay_state, RelayStateName::Connected);
    assert_eq!((before.first_byte.count, before.cache.hit_rate), (0, None));

    ben.share(request(&world.shared())).await.unwrap();
    wait_names(&anna, "ben/shared/sub", &["file"]).await;
    read(&anna, "ben/shared/sub/file").await.unwrap();
    let status = anna.status().unwrap();
    // Once more if the home took the new file for changed meanwhile.
    assert!((1..=2).contains(&status.first_byte.count));
    assert!(status.first_byte.max_ms > 0.0);
    assert!(status.cache.hit_rate.is_some());
    assert!(status.wire.received - before.wire.received >= status.cache.fetched);
    let session = &status.contacts[0].session;
    assert_eq!(session.path.as_deref(), Some("lan"));
    assert!(session.transport.is_some() && session.governor.is_some_and(|governor| governor.window > 0));
    assert!(session.lanes.iter().any(|lane| lane.class == "bulk"));

    wait("the rate of what comes in", async || {
        anna.drop_cache(None).await.unwrap();
        read(&anna, "ben/shared/sub/file").await.unwrap();
        let status = anna.status().unwrap();
        let lanes = status.contacts.first()?.session.lanes.iter().map(|lane| lane.rate_in).sum::<u64>();
        (status.wire.rate_in > 0 && lanes > 0).then_some(())
    })
    .await;
    world.end(&[&anna, &ben]).await;
}
