use farhold_net::Path;
use farhold_wire::LaneClass;

use crate::support::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn saved_contacts_connect_and_call_each_other() {
    let relay = relay();
    for (make, path) in [(config as fn(&_) -> _, Path::Lan), (relayed, Path::Relayed)] {
        let (a, b) = pair(make(&address(&relay)), make(&address(&relay))).await;
        a.net.connect(b.id()).unwrap();
        a.until(&b, "on the best path", |state| connection(state).is_some_and(|c| c.path == path)).await;
        b.connected(&a).await;
        for (from, to) in [(&a, &b), (&b, &a)] {
            let peer = from.peer(to);
            for class in [LaneClass::Urgent, LaneClass::Bulk] {
                read(&peer, 12345, 1 << 20, class).await.unwrap();
                read(&peer, 0, 0, class).await.unwrap();
                read(&peer, 77, 1, class).await.unwrap();
            }
        }
        a.net.stop().await;
        b.net.stop().await;
    }
}
