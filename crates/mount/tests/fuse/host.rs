//! The process that mounts. It reads commands, one a line, and answers each with one line.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use farhold_cache::{Cache, CacheConfig};
use farhold_catalog::{EntryId, Home, HomeConfig, Nodes, Replica};
use farhold_mount::{Mount, MountError, MountOptions};
use farhold_vfs::{Drive, DriveConfig};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::peer::{Mode, Peer};
use crate::{content, unhex};

/// Names the folder that the host works in.
pub(crate) const FOLDER: &str = "FARHOLD_TEST_HOST";
/// Begins every line that is an answer; the test runner writes lines of its own.
pub(crate) const ANSWER: &str = "> ";

/// A file of this name in that folder: after it has stopped, the host mounts once more and does not wait for it.
pub(crate) const HURRY: &str = "hurry";

/// No test but the host itself: it ends at once unless it is told where to work.
#[test]
#[ignore = "started by the tests"]
fn serve() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    tokio::runtime::Runtime::new().unwrap().block_on(run(folder.into()));
}

async fn run(folder: PathBuf) {
    let cancel = CancellationToken::new();
    let config = HomeConfig { folder: folder.join("home"), refused: vec![folder.join("cache")] };
    let home = Home::open(config, cancel.clone()).await.unwrap();
    let nodes = Nodes::open(&folder.join("nodes.db")).await.unwrap();
    let cache = Cache::open(CacheConfig::new(folder.join("cache"), 1 << 30, [7; 32]));
    let config = DriveConfig::new(folder.join("names.db"), "mMmMmM".to_owned());
    let drive = Drive::open(home.clone(), nodes, config, cancel.clone()).await.unwrap();
    let peer = Peer::new(2, Replica::open(&folder.join("replica.db")).await.unwrap()).await;
    peer.show(&drive, "bob", &cache, true).await;
    let tree = peer.folder(None, "tree").await;

    let options = MountOptions { point: folder.join("point"), allow_other: false };
    match Mount::start(Arc::clone(&drive), options.clone()).await {
        Ok(mount) => {
            println!("{ANSWER}mounted");
            obey(mount, &peer, tree).await;
            if folder.join(HURRY).exists() {
                let _ = timeout(Duration::ZERO, Mount::start(drive, options)).await;
            }
        }
        Err(error) => println!("{ANSWER}refused: {error}"),
    }
    cancel.cancel();
}

async fn obey(mut mount: Mount, peer: &Arc<Peer>, tree: EntryId) {
    let mut files: HashMap<Vec<u8>, EntryId> = HashMap::new();
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |index: usize| words[index].parse::<usize>().unwrap();
        let bytes = |index: usize| content(u8::try_from(number(index + 1)).unwrap(), number(index));
        match words[0] {
            "file" => {
                let name = unhex(words[1]);
                let id = peer.file(Some(tree), &name, bytes(2)).await;
                files.insert(name, id);
            }
            "copy" => {
                let name = unhex(words[1]);
                let id = peer.file(Some(tree), &name, std::fs::read(words[2]).unwrap()).await;
                peer.alter(id, |entry| entry.mode = 0o755).await;
                files.insert(name, id);
            }
            "link" => {
                peer.link(Some(tree), words[1], words[2]).await;
            }
            "many" => {
                let folder = peer.folder(Some(tree), "many").await;
                peer.files(folder, number(1), |index| format!("file {index}")).await;
            }
            "change" => peer.change(files[&unhex(words[1])], bytes(2), words[4] == "replaced").await,
            "remove" => peer.remove(files[&unhex(words[1])]).await,
            "block" => peer.block(files[&unhex(words[1])]),
            "unblock" => peer.unblock(files[&unhex(words[1])]),
            "offline" => peer.set_mode(Mode::Offline),
            "online" => peer.set_mode(Mode::Online),
            "fetches" => {
                println!("{ANSWER}{}", peer.fetches());
                continue;
            }
            "gone" => mount.gone().await,
            "hurry" => {
                let _ = timeout(Duration::ZERO, mount.stop()).await;
                println!("{ANSWER}stopped");
                return;
            }
            "try" => {
                mount = match mount.try_stop().await {
                    Ok(()) => {
                        println!("{ANSWER}stopped");
                        return;
                    }
                    Err((kept, MountError::Held { holders, .. })) => {
                        let pids: Vec<String> = holders.iter().map(|holder| holder.pid.to_string()).collect();
                        println!("{ANSWER}held {}", pids.join(" "));
                        kept
                    }
                    Err((_, error)) => panic!("{error}"),
                };
                continue;
            }
            "stop" => {
                match mount.stop().await {
                    Ok(stopped) => {
                        let pids: Vec<String> =
                            stopped.holders.iter().map(|holder| holder.pid.to_string()).collect();
                        println!("{ANSWER}stopped {}", pids.join(" "));
                    }
                    Err(error) => println!("{ANSWER}{error}"),
                }
                return;
            }
            other => panic!("unknown command {other}"),
        }
        println!("{ANSWER}ok");
    }
}
