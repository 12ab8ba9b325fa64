//! A paired contact that speaks the protocol and lies: nothing outside of the space, bounded memory, everybody else
//! goes on.

use std::fs;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use farhold_net::{Net, NetConfig, NetEvent, PeerService};
use farhold_secure::Identity;
use farhold_tests::peer::{Peer, PeerOptions, Relay, output, pair, succeeds};
use farhold_tests::{tree, wait_for};
use farhold_wire::{
    Batch, Change, ContactId, Entry, EntryId, EntryKind, Name, Position, ReadFailure, ReadHead, ReadPart,
    ReadRequest, Timestamp, Version, limits,
};
use futures_util::stream::{self, BoxStream, StreamExt};
use tokio_util::sync::CancellationToken;

/// Most memory that an engine may take, whatever a contact sends.
const MEMORY_MIB: u64 = 400;

fn id(number: u64) -> EntryId {
    let mut bytes = [0; 16];
    bytes[8..].copy_from_slice(&number.to_be_bytes());
    EntryId(bytes)
}

fn entry(number: u64, parent: Option<u64>, name: &str, kind: EntryKind) -> Entry {
    Entry {
        id: id(number),
        parent: parent.map(id),
        name: Name::new(name.as_bytes().to_vec()).expect("a name"),
        kind,
        version: Version { epoch: 1, counter: number },
        incarnation: 0,
        modified: Timestamp { seconds: i64::MAX, nanos: 0 },
        mode: 0o777,
        writable: false,
        unavailable: false,
    }
}

fn file(number: u64, name: &str, size: u64) -> Entry {
    entry(number, Some(1), name, EntryKind::File { size })
}

fn link(number: u64, name: &str, target: &'static str) -> Entry {
    entry(number, Some(1), name, EntryKind::Symlink { target: Some(Bytes::from_static(target.as_bytes())) })
}

/// The files of the lie, by what reading them meets.
const ENDLESS: u64 = 10;
const SHORT: u64 = 11;
const OTHER: u64 = 12;
const LONG_HEAD: u64 = 13;
const SILENT: u64 = 14;
const FLICKERING: u64 = 15;

const LYING: [u64; 6] = [ENDLESS, SHORT, OTHER, LONG_HEAD, SILENT, FLICKERING];

fn lying(number: u64) -> Entry {
    match number {
        ENDLESS => file(number, "endless", limits::FILE_BYTES),
        SHORT => file(number, "short", 1 << 20),
        OTHER => file(number, "other", 1 << 20),
        LONG_HEAD => file(number, "long head", 1 << 20),
        SILENT => file(number, "silent", 1 << 20),
        _ => file(number, "flickering", 1 << 20),
    }
}

fn lies() -> Vec<Change> {
    let mut entries = vec![
        entry(1, None, "trap", EntryKind::Folder),
        // Cycles, a parent of itself, children of what is no folder or not there.
        entry(2, Some(3), "cycle", EntryKind::Folder),
        entry(3, Some(2), "cycle", EntryKind::Folder),
        entry(4, Some(4), "self", EntryKind::Folder),
        entry(5, Some(ENDLESS), "below a file", EntryKind::Folder),
        entry(6, Some(999_999), "orphan", EntryKind::Folder),
        // One name, three entries.
        file(20, "twin", 1),
        file(21, "twin", 2),
        entry(22, Some(1), "twin", EntryKind::Folder),
        link(30, "etc", "../../../../../../etc"),
        link(31, "passwd", "../../../../../../../../etc/passwd"),
        link(32, "sneaky", "twin/../../../../../../../etc/passwd"),
        link(33, "loop", "loop"),
    ];
    entries.extend(LYING.map(lying));
    // A chain far deeper than any path may be.
    let deep = limits::DEPTH as u64 * 4;
    for number in 0..deep {
        let parent = if number == 0 { 1 } else { 10_000 + number - 1 };
        entries.push(entry(10_000 + number, Some(parent), "deep", EntryKind::Folder));
    }
    entries.into_iter().map(Change::Put).collect()
}

#[derive(Default)]
struct Liar {
    calls: AtomicU64,
    versions: AtomicU64,
}

#[async_trait]
impl PeerService for Liar {
    fn changes(&self, _: ContactId, _: Option<Position>) -> BoxStream<'static, Result<Batch, ReadFailure>> {
        let batch = |sequence, changes, begin, end| {
            Ok(Batch {
                position: Position { epoch: 1, sequence },
                changes,
                snapshot_begin: begin,
                snapshot_end: end,
                space: None,
            })
        };
        let mut batches: Vec<_> = lies()
            .chunks(limits::BATCH_CHANGES)
            .map(|changes| batch(1, changes.to_vec(), false, false))
            .collect();
        batches[0].as_mut().map(|batch| batch.snapshot_begin = true).expect("a batch");
        batches.push(batch(2, Vec::new(), false, true));
        // Then what is unknown goes, and the first time positions run backwards, which must not be followed.
        let first = self.calls.fetch_add(1, Ordering::Relaxed) == 0;
        let unknown = vec![Change::Remove(id(424_242)); 100];
        batches.push(batch(if first { 1 } else { 3 }, unknown, false, false));
        // Later a flood of files comes and goes without an end.
        let start = 1 << 41;
        let flood = stream::iter(0..).map(move |round: u64| {
            let first = start + round * 500;
            let made = (first..first + 500).map(|n| Change::Put(file(n, &format!("flood {}", n % 5000), 1)));
            let gone = (first..first + 500).map(|n| Change::Remove(id(n)));
            let changes = if round.is_multiple_of(2) { made.collect() } else { gone.collect() };
            batch(4 + round, changes, false, false)
        });
        stream::iter(batches).chain(flood).boxed()
    }

    async fn lookup(
        &self,
        _: ContactId,
        parent: Option<EntryId>,
        name: Name,
    ) -> Result<Option<Entry>, ReadFailure> {
        // Whatever is asked for is there, under another name and parent.
        let _ = (parent, name);
        Ok(Some(entry(77, Some(4), "not what you asked for", EntryKind::Folder)))
    }

    fn list(&self, _: ContactId, parent: EntryId) -> BoxStream<'static, Result<Vec<Entry>, ReadFailure>> {
        // A listing without an end.
        stream::iter(0..)
            .map(move |page: u64| {
                let entry = |n| Entry { parent: Some(parent), ..file(n, &format!("listed {n}"), 1) };
                Ok((page * 1000 + (1 << 50)..).take(1000).map(entry).collect())
            })
            .boxed()
    }

    fn read(&self, _: ContactId, request: ReadRequest) -> BoxStream<'static, Result<ReadPart, ReadFailure>> {
        let number = u64::from_be_bytes(request.entry.0[8..].try_into().expect("8 bytes"));
        let part = || Ok(ReadPart::Data(Bytes::from(vec![0x58; limits::PART_BYTES])));
        let head = |entry: Entry, length| Ok(ReadPart::Head(ReadHead { entry, length }));
        let honest = lying(number);
        match number {
            SHORT => stream::iter([
                head(honest, request.length),
                Ok(ReadPart::Data(Bytes::from_static(b"too few"))),
            ])
            .boxed(),
            OTHER => stream::iter([head(file(999, "another", 1), request.length), part()]).boxed(),
            LONG_HEAD => {
                stream::iter([head(honest, limits::READ_BYTES)]).chain(stream::repeat_with(part)).boxed()
            }
            SILENT => stream::iter([head(honest, request.length)]).chain(stream::pending()).boxed(),
            FLICKERING => {
                // Every answer is of a still newer version of another size.
                let counter = self.versions.fetch_add(1, Ordering::Relaxed) + 1000;
                let kind = EntryKind::File { size: counter % 3 };
                let entry = Entry { version: Version { epoch: 1, counter }, kind, ..honest };
                stream::iter([head(entry, 0)]).boxed()
            }
            _ => stream::iter([head(honest, request.length)]).chain(stream::repeat_with(part)).boxed(),
        }
    }
}

/// Pairs a liar with `victim` and connects to it; it lives as long as the runtime.
async fn lie_to(victim: &Peer, relay: &Relay) -> Net {
    let identity = Arc::new(Identity::generate().expect("an identity"));
    let code = identity.code().to_string();
    let config =
        NetConfig { relay: Some(relay.address().parse().expect("an address")), ..NetConfig::default() };
    let (net, mut events) = Net::start(config, identity, Arc::new(Liar::default()), CancellationToken::new())
        .await
        .expect("a net");
    victim.ask(&["contact", "add", "liar", &code]);
    net.pair(victim.code().parse().expect("a code")).expect("a pairing");
    let handle = net.clone();
    tokio::spawn(async move {
        while let Some(event) = events.recv().await {
            match event {
                NetEvent::Paired { contact, .. } => {
                    handle.confirm_stored(contact).expect("stored");
                }
                NetEvent::Promoted { id } => handle.connect(id).expect("connecting"),
            }
        }
    });
    net
}

fn memory_mib(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("the process is there");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("its memory");
    line.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok()).expect("a number") / 1024
}

#[test]
fn a_lying_contact_harms_nobody() {
    let relay = Relay::start();
    let mut anna = Peer::start(&relay, PeerOptions { mount: true, relay_only: false });
    let mut ben = Peer::start(&relay, PeerOptions::default());
    pair(&anna, &ben);
    let shared = ben.home().join("shared");
    tree::write(&shared.join("honest.bin"), 1, 3_000_000);
    ben.ask(&["share", shared.to_str().expect("text"), "--with", "anna"]);

    anna.wait_path("ben/shared/honest.bin");

    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let net = runtime.block_on(lie_to(&anna, &relay));
    anna.wait_session("liar", "connected", Duration::from_secs(40));
    let trap = anna.wait_path("liar/trap");

    let before = tree::listing(&anna.mount().join("ben"));
    assert_eq!(tree::listing(&anna.mount().join("ben/shared")), tree::listing(&shared));
    for name in ["short", "other", "long head", "silent", "twin", "deep/deep/deep", "passwd", "etc/passwd"] {
        // Whatever comes, it comes within the longest time that a request may be held, and is not /etc/passwd.
        let read = Command::new("timeout").args(["32", "head", "-c", "100000"]).arg(trap.join(name)).output();
        let read = read.expect("head runs");
        assert_ne!(read.status.code(), Some(124), "{name} hangs");
        assert!(!read.status.success(), "{name} is a lie");
        assert!(!read.stdout.windows(5).any(|window| window == b"root:"), "{name} leads out of the space");
    }
    for name in ["endless", "flickering"] {
        let read = Command::new("timeout").args(["32", "head", "-c", "1000"]).arg(trap.join(name)).output();
        assert_ne!(read.expect("head runs").status.code(), Some(124), "{name} hangs");
    }
    // Whole walks end as well, though this tree never stands still.
    let walk = Command::new("timeout").args(["60", "find"]).arg(&trap).output().expect("find runs");
    assert_ne!(walk.status.code(), Some(124), "find hangs");

    let walked = String::from_utf8_lossy(&walk.stdout).into_owned();
    assert!(walked.contains("deep/deep") && walked.contains("flood"), "the lies were taken in: {walked}");
    assert!(
        !walked.contains("cycle") && !walked.contains("orphan"),
        "what hangs nowhere is not shown: {walked}"
    );

    let memory = memory_mib(anna.program().id());
    assert!(memory < MEMORY_MIB, "{memory} MiB");
    assert_eq!(before, tree::listing(&anna.mount().join("ben")), "the honest contact's tree is untouched");
    assert_eq!(
        tree::hash(&anna.mount().join("ben/shared/honest.bin")),
        tree::hash(&shared.join("honest.bin"))
    );
    assert!(succeeds(Command::new("ls").arg(anna.mount())));

    runtime.block_on(net.stop());
    anna.wait_session("liar", "offline", Duration::from_secs(15));
    wait_for("the engine answers", Duration::from_secs(5), || {
        anna.ask(&["status"]).is_object().then_some(())
    });
    output(Command::new("ls").arg(anna.mount().join("ben")));
    anna.stop();
    ben.stop();
}
