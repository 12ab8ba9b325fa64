//! A client whose address changes: a proxy between the two sends from another port.

use std::sync::Mutex;

use tokio::task::JoinSet;

use super::*;

const BYTES: usize = 8 << 20;

/// Passes datagrams on between a client and a server; the server sees whichever socket is the last.
struct Proxy {
    front: Arc<UdpSocket>,
    server: SocketAddr,
    back: Mutex<Arc<UdpSocket>>,
    client: Mutex<Option<SocketAddr>>,
}

impl Proxy {
    async fn new(server: SocketAddr) -> Arc<Self> {
        Arc::new(Self {
            front: Arc::new(UdpSocket::bind("127.0.0.1:0").await.unwrap()),
            server,
            back: Mutex::new(Arc::new(UdpSocket::bind("127.0.0.1:0").await.unwrap())),
            client: Mutex::default(),
        })
    }

    fn back(&self) -> Arc<UdpSocket> {
        Arc::clone(&self.back.lock().unwrap())
    }

    async fn forward(self: Arc<Self>) {
        let mut datagram = [0; 2000];
        loop {
            let (length, from) = self.front.recv_from(&mut datagram).await.unwrap();
            *self.client.lock().unwrap() = Some(from);
            // A socket that is full drops, as any hop may.
            let _ = self.back().try_send_to(&datagram[..length], self.server);
        }
    }

    async fn backward(self: Arc<Self>) {
        let mut datagram = [0; 2000];
        loop {
            let back = self.back();
            // Whoever waits at a socket that was left goes to the new one soon.
            let Ok(received) = timeout(Duration::from_millis(5), back.recv(&mut datagram)).await else {
                continue;
            };
            let client = *self.client.lock().unwrap();
            if let Some(client) = client {
                let _ = self.front.try_send_to(&datagram[..received.unwrap()], client);
            }
        }
    }

    async fn move_on(&self) {
        *self.back.lock().unwrap() = Arc::new(UdpSocket::bind("127.0.0.1:0").await.unwrap());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_follows_its_client_to_another_address() {
    let ([zero, one], [client, server]) = (parties(), endpoints());
    let entry = entry();
    let proxy = Proxy::new(server.local().unwrap()).await;
    let mut tasks = JoinSet::new();
    tasks.spawn(Arc::clone(&proxy).forward());
    tasks.spawn(Arc::clone(&proxy).backward());
    let to = proxy.front.local_addr().unwrap();
    let sending = async {
        let mut socket = client.dial(to, &zero, Arc::default()).await.unwrap();
        socket.write_all(&[0; 100]).await.unwrap();
        for chunk in 0..8_u8 {
            socket.write_all(&vec![chunk; BYTES / 8]).await.unwrap();
            if chunk == 3 {
                proxy.move_on().await;
                client.network_changed();
            }
        }
        socket.shutdown().await.unwrap();
        assert_eq!(socket.read(&mut [0]).await.unwrap(), 0);
    };
    let receiving = async {
        let mut socket = server.accept(&one, &entry, Arc::default()).await.unwrap();
        let link = socket.link().unwrap().clone();
        link.admit();
        let before = link.remote();
        let mut all = Vec::new();
        socket.read_to_end(&mut all).await.unwrap();
        socket.shutdown().await.unwrap();
        assert_ne!(link.remote(), before, "the address has changed");
        assert!(all[100..].chunks(BYTES / 8).zip(0..8).all(|(chunk, of)| chunk == vec![of; BYTES / 8]));
        assert_eq!(all.len(), 100 + BYTES);
        // Until the other end has heard of our end.
        let _ = timeout(SOON, socket.link().unwrap().accept()).await;
    };
    timeout(Duration::from_secs(20), async { tokio::join!(sending, receiving) }).await.expect("in time");
}
