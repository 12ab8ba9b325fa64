//! Pulls and pushes between two engines.

use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use super::*;
use crate::status::{Direction, TransferId, TransferState, TransferStatus};

/// Two engines that are paired, and what is to be moved.
struct Pair {
    world: World,
    anna: Engine,
    ben: Engine,
}

impl Pair {
    async fn new() -> Self {
        let world = World::new();
        let (anna, ben) = (world.engine("anna").await, world.engine("ben").await);
        pair(&anna, &ben).await;
        Self { world, anna, ben }
    }

    fn folder(&self, name: &str) -> PathBuf {
        let path = self.world.folder.path().join(name);
        std::fs::create_dir_all(&path).unwrap();
        path
    }

    /// Ben shares a folder, and Anna sees it.
    async fn shared(&self, path: &Path) {
        self.ben.share(request(path)).await.unwrap();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        wait("the share is seen", async || names(&self.anna, "ben").await.contains(&name).then_some(()))
            .await;
    }

    async fn end(self) {
        let Self { world, anna, ben } = self;
        world.end(&[&anna, &ben]).await;
    }
}

async fn done(engine: &Engine, id: TransferId) -> TransferStatus {
    tokio::time::timeout(WITHIN, engine.transfer_done(id)).await.expect("it comes to an end").unwrap()
}

async fn until(engine: &Engine, id: TransferId, what: &str, found: impl Fn(&TransferStatus) -> bool) {
    wait(what, async || found(&status_of(engine, id)).then_some(())).await;
}

fn status_of(engine: &Engine, id: TransferId) -> TransferStatus {
    engine.transfers().into_iter().find(|status| status.id == id).unwrap()
}

fn random(length: usize, seed: u64) -> Vec<u8> {
    let mut bytes = vec![0; length];
    let key = *blake3::hash(&seed.to_be_bytes()).as_bytes();
    blake3::Hasher::new_keyed(&key).finalize_xof().fill(&mut bytes);
    bytes
}

/// Every kind of thing that a tree can hold.
fn make_tree(path: &Path) {
    std::fs::create_dir_all(path.join("empty folder")).unwrap();
    std::fs::create_dir_all(path.join("deep/er/still")).unwrap();
    std::fs::write(path.join("nothing"), "").unwrap();
    std::fs::write(path.join("deep/er/still/here"), "x").unwrap();
    std::fs::write(path.join("large"), random(5_000_000, 1)).unwrap();
    std::fs::write(path.join("just one group"), random(1 << 20, 2)).unwrap();
    std::fs::write(path.join("deep/ümlaut \u{1f600}"), random(100, 3)).unwrap();
    std::os::unix::fs::symlink("er/still/here", path.join("deep/link")).unwrap();
    let sparse = std::fs::File::create(path.join("sparse")).unwrap();
    sparse.set_len(64 << 20).unwrap();
    std::fs::create_dir(path.join("many")).unwrap();
    for index in 0..1000 {
        std::fs::write(path.join(format!("many/{index}")), random(index % 1500, index as u64)).unwrap();
    }
    std::fs::set_permissions(path.join("large"), std::fs::Permissions::from_mode(0o751)).unwrap();
    let old = std::time::UNIX_EPOCH + Duration::new(1_000_000_000, 123_456_789);
    std::fs::File::open(path.join("nothing")).unwrap().set_modified(old).unwrap();
}

/// Kind with mode, time, and hash of the content.
type Look = (u32, Option<(i64, i64)>, [u8; 32]);

/// All that is below a folder.
fn tree(path: &Path) -> std::collections::BTreeMap<PathBuf, Look> {
    let mut found = std::collections::BTreeMap::new();
    let mut todo = vec![path.to_owned()];
    while let Some(folder) = todo.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let meta = entry.metadata().unwrap();
            let (content, time) = if meta.is_symlink() {
                (std::fs::read_link(entry.path()).unwrap().into_os_string().into_encoded_bytes(), None)
            } else if meta.is_dir() {
                todo.push(entry.path());
                (Vec::new(), Some((meta.mtime(), meta.mtime_nsec())))
            } else {
                (std::fs::read(entry.path()).unwrap(), Some((meta.mtime(), meta.mtime_nsec())))
            };
            let name = entry.path().strip_prefix(path).unwrap().to_owned();
            found.insert(name, (meta.mode(), time, *blake3::hash(&content).as_bytes()));
        }
    }
    found
}

fn is_whole(status: &TransferStatus) -> bool {
    status.state == TransferState::Done
        && status.reason.is_none()
        && (status.files_done, status.bytes_done) == (status.files, status.bytes)
}

/// Nothing of a transfer is left beside what it made.
fn no_leftovers(folder: &Path, engine: &Engine) {
    let parts = tree(folder).into_keys().filter(|name| name.extension().is_some_and(|it| it == "part"));
    assert_eq!(parts.collect::<Vec<_>>(), Vec::<PathBuf>::new());
    assert_eq!(std::fs::read_dir(engine.layout().journals()).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tree_is_pulled_whole() {
    let pair = Pair::new().await;
    let source = pair.folder("tree");
    make_tree(&source);
    pair.shared(&source).await;
    let target = pair.folder("target");
    let id = pair.anna.pull(&drive_path("ben/tree"), Some(target.clone())).await.unwrap();
    let status = done(&pair.anna, id).await;
    assert!(is_whole(&status), "{status:?}");
    assert_eq!((status.files, status.direction), (1006, Direction::Pull));
    assert_eq!(status.destination.as_deref(), Some(target.join("tree").as_path()));
    assert_eq!(tree(&target.join("tree")), tree(&source));
    let sparse = std::fs::metadata(target.join("tree/sparse")).unwrap();
    assert!(sparse.blocks() * 512 < 1 << 20, "{} blocks", sparse.blocks());
    no_leftovers(&target, &pair.anna);

    // Its home saw it too.
    wait("the home shows it", async || {
        let served = pair.ben.transfers().into_iter().find(|status| status.direction == Direction::Serve)?;
        (served.state == TransferState::Done && served.files_done == 1006).then_some(())
    })
    .await;
    // Nothing is overwritten.
    let again = pair.anna.pull(&drive_path("ben/tree"), Some(target.clone())).await.unwrap_err();
    assert_eq!(again.class(), ErrorClass::Conflict);
    let missing = pair.anna.pull(&drive_path("ben/nothing there"), Some(target.join("x"))).await.unwrap();
    let missing = done(&pair.anna, missing).await;
    assert_eq!(missing.state, TransferState::Failed);
    assert_eq!(missing.class, Some(ErrorClass::NotFound));
    assert!(missing.reason.unwrap().contains("there is no nothing there"));
    pair.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tree_is_pushed_whole_and_only_where_it_is_accepted() {
    let pair = Pair::new().await;
    let source = pair.folder("tree");
    make_tree(&source);
    let incoming = pair.folder("incoming");
    std::fs::write(incoming.join("tree"), "was here before").unwrap();
    pair.anna.accept_pushes("ben", Some(incoming.clone())).await.unwrap();
    let id = pair.ben.push(source.clone(), "anna").await.unwrap();
    let sent = done(&pair.ben, id).await;
    assert!(is_whole(&sent), "{sent:?}");
    assert_eq!(sent.files, 1006);
    assert_eq!(tree(&incoming.join("tree (2)")), tree(&source));
    assert_eq!(std::fs::read(incoming.join("tree")).unwrap(), b"was here before");
    let received = &pair.anna.transfers()[0];
    assert_eq!(received.direction, Direction::Receive);
    assert!(is_whole(received), "{received:?}");
    no_leftovers(&incoming, &pair.anna);

    // What was offered is offered no more, and nobody else ever saw it.
    assert_eq!(names(&pair.anna, "ben").await, Vec::<String>::new());
    // The setting is kept.
    pair.anna.stop().await;
    let anna = pair.world.engine("anna").await;
    let file = pair.folder("one").join("file");
    std::fs::write(&file, content()).unwrap();
    let id = pair.ben.push(file.clone(), "anna").await.unwrap();
    assert!(is_whole(&done(&pair.ben, id).await));
    assert_eq!(std::fs::read(incoming.join("file")).unwrap(), content());
    anna.accept_pushes("ben", None).await.unwrap();
    let id = pair.ben.push(file, "anna").await.unwrap();
    until(&pair.ben, id, "it waits for Anna", waits_for_the_user).await;
    assert_eq!(last(&anna).state, TransferState::Offered);
    pair.world.end(&[&anna, &pair.ben]).await;
}

fn waits_for_the_user(status: &TransferStatus) -> bool {
    let reason = status.reason.as_deref().unwrap_or_default();
    status.state == TransferState::Waiting && reason.contains("has not accepted")
}

fn last(engine: &Engine) -> TransferStatus {
    engine.transfers().pop().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_offer_waits_for_its_user_over_restarts_and_lands_where_it_is_taken() {
    let pair = Pair::new().await;
    let source = pair.folder("tree");
    make_tree(&source);
    let sent = pair.ben.push(source.clone(), "anna").await.unwrap();
    until(&pair.ben, sent, "it waits for Anna", waits_for_the_user).await;
    let offered = last(&pair.anna);
    assert_eq!((offered.state, offered.direction), (TransferState::Offered, Direction::Receive));
    assert_eq!((offered.files, offered.name.as_str(), offered.destination), (1006, "tree", None));
    let refused = pair.anna.resume_transfer(offered.id).await.unwrap_err();
    assert_eq!(refused.class(), ErrorClass::Conflict);

    pair.anna.stop().await;
    pair.ben.stop().await;
    let (anna, ben) = (pair.world.engine("anna").await, pair.world.engine("ben").await);
    assert_eq!(last(&anna).state, TransferState::Offered);
    until(&ben, sent, "it waits for Anna again", waits_for_the_user).await;
    let nowhere = anna.accept_offer(offered.id, Some(pair.folder("x").join("nowhere"))).await.unwrap_err();
    assert_eq!(nowhere.class(), ErrorClass::NotFound);
    let incoming = pair.folder("incoming");
    anna.accept_offer(offered.id, Some(incoming.clone())).await.unwrap();
    assert!(is_whole(&done(&ben, sent).await));
    assert!(is_whole(&done(&anna, offered.id).await));
    assert_eq!(tree(&incoming.join("tree")), tree(&source));

    // The next one is declined, and the one after that goes with its sender's wish.
    let second = ben.push(source.clone(), "anna").await.unwrap();
    until(&ben, second, "it waits for Anna", waits_for_the_user).await;
    anna.decline_offer(last(&anna).id).await.unwrap();
    assert_eq!(anna.decline_offer(last(&anna).id).await.unwrap_err().class(), ErrorClass::Conflict);
    let declined = done(&ben, second).await;
    assert_eq!(
        (declined.state, declined.reason.as_deref()),
        (TransferState::Cancelled, Some("it was declined"))
    );
    let third = ben.push(source, "anna").await.unwrap();
    until(&ben, third, "it waits for Anna", waits_for_the_user).await;
    let id = last(&anna).id;
    ben.cancel_transfer(third).await.unwrap();
    until(&anna, id, "it is offered no more", |status| status.state == TransferState::Cancelled).await;
    no_leftovers(&incoming, &anna);
    pair.world.end(&[&anna, &ben]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_for_a_contact_takes_what_it_has_offered() {
    let pair = Pair::new().await;
    let source = pair.folder("from").join("file");
    std::fs::write(&source, content()).unwrap();
    let sent = pair.ben.push(source, "anna").await.unwrap();
    until(&pair.ben, sent, "it waits for Anna", waits_for_the_user).await;
    let incoming = pair.folder("incoming");
    pair.anna.accept_pushes("ben", Some(incoming.clone())).await.unwrap();
    assert!(is_whole(&done(&pair.ben, sent).await));
    assert_eq!(std::fs::read(incoming.join("file")).unwrap(), content());
    pair.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_forgotten_takes_its_parts_along_and_is_not_received_again() {
    let pair = Pair::new().await;
    let (source, target) = pair.large().await;
    let incoming = pair.folder("incoming");
    pair.anna.accept_pushes("ben", Some(incoming.clone())).await.unwrap();
    let small = pair.folder("from").join("file");
    std::fs::write(&small, content()).unwrap();
    let sent = pair.ben.push(small, "anna").await.unwrap();
    assert!(is_whole(&done(&pair.ben, sent).await));
    let received = last(&pair.anna).id;
    assert!(is_whole(&done(&pair.anna, received).await));

    // One that fails in the middle: its file goes away.
    let id = pair.anna.pull(&drive_path("ben/shared/large"), Some(target.clone())).await.unwrap();
    begun(&pair.anna).await;
    assert_eq!(pair.anna.forget_transfers(Some(vec![id])).await.unwrap_err().class(), ErrorClass::Conflict);
    std::fs::remove_file(&source).unwrap();
    assert_eq!(done(&pair.anna, id).await.state, TransferState::Failed);
    assert!(noted(&pair.anna) > 0, "it left something");
    assert_eq!(pair.anna.forget_transfers(None).await.unwrap(), [received, id]);
    assert_eq!(pair.anna.transfers(), []);
    wait("nothing is left", async || (noted(&pair.anna) == 0).then_some(())).await;
    no_leftovers(&target, &pair.anna);

    // Ben offers what he never heard the end of; Anna knows, also after a restart.
    pair.anna.stop().await;
    let anna = pair.world.engine("anna").await;
    let transfers = &pair.ben.inner.parts.transfers;
    transfers.undo(sent);
    wait_session(&pair.ben, "anna", SessionStateName::Connected).await;
    pair.ben.resume_transfer(sent).await.unwrap();
    assert_eq!(done(&pair.ben, sent).await.state, TransferState::Done);
    assert_eq!(std::fs::read_dir(&incoming).unwrap().count(), 1);
    assert_eq!(anna.transfers(), []);
    pair.world.end(&[&anna, &pair.ben]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_of_rates_hold_and_are_kept() {
    use crate::commands::{RateChange, RateLimits};
    const RATE: u64 = 8_000_000;
    let pair = Pair::new().await;
    let source = pair.folder("shared");
    std::fs::write(source.join("file"), random(24_000_000, 3)).unwrap();
    pair.shared(&source).await;
    let slow = RateChange { receive: Some(Some(1)), send: None };
    assert_eq!(pair.anna.limit_rates(slow).await.unwrap_err().class(), ErrorClass::Usage);
    for (engine, name, change) in [
        (&pair.anna, "received", RateChange { receive: Some(Some(RATE)), send: None }),
        (&pair.ben, "sent", RateChange { receive: None, send: Some(Some(RATE)) }),
    ] {
        let limits = engine.limit_rates(change).await.unwrap();
        let set = RateLimits { receive: change.receive.flatten(), send: change.send.flatten() };
        assert_eq!(limits, set);
        let begin = std::time::Instant::now();
        let target = pair.folder(name);
        let id = pair.anna.pull(&drive_path("ben/shared/file"), Some(target)).await.unwrap();
        assert!(is_whole(&done(&pair.anna, id).await));
        // A loaded machine may be slower, and what is spare at first goes at once.
        assert!(begin.elapsed() > Duration::from_millis(2500), "{name}: {:?}", begin.elapsed());
        let off = RateChange { receive: Some(None), send: Some(None) };
        assert_eq!(engine.limit_rates(off).await.unwrap(), RateLimits::default());
    }
    pair.anna.limit_rates(RateChange { receive: Some(Some(RATE)), send: None }).await.unwrap();
    pair.anna.stop().await;
    let anna = pair.world.engine("anna").await;
    assert_eq!(anna.settings().settings.limit_receive, Some(RATE));
    pair.world.end(&[&anna, &pair.ben]).await;
}

/// Large enough not to be there before anybody looks.
const LARGE: usize = 192 << 20;

impl Pair {
    /// A large file that Ben shares, and where Anna pulls it to.
    async fn large(&self) -> (PathBuf, PathBuf) {
        let source = self.folder("shared");
        std::fs::write(source.join("large"), random(LARGE, 9)).unwrap();
        self.shared(&source).await;
        (source.join("large"), self.folder("target"))
    }
}

/// Groups of files under way that an engine has noted.
fn noted(engine: &Engine) -> u64 {
    let journals = std::fs::read_dir(engine.layout().journals()).unwrap();
    journals.map(|journal| journal.unwrap().metadata().map_or(0, |meta| meta.len() / 40)).sum()
}

async fn begun(engine: &Engine) {
    let end = std::time::Instant::now() + WITHIN;
    while noted(engine) < 8 {
        assert!(std::time::Instant::now() < end, "it never begins");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Blocks that a file has in common with the bytes, at the same places.
fn in_common(path: &Path, bytes: &[u8]) -> usize {
    let there = std::fs::read(path).unwrap();
    there.chunks(1 << 20).zip(bytes.chunks(1 << 20)).filter(|(one, other)| one == other).count()
}

fn part_in(folder: &Path) -> PathBuf {
    let mut parts = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    parts.find(|path| path.extension().is_some_and(|it| it == "part")).expect("a part file")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_and_a_restart_keep_what_came() {
    let pair = Pair::new().await;
    let (_, target) = pair.large().await;
    let id = pair.anna.pull(&drive_path("ben/shared/large"), Some(target.clone())).await.unwrap();
    begun(&pair.anna).await;
    pair.anna.pause_transfer(id).await.unwrap();
    until(&pair.anna, id, "paused", |status| status.state == TransferState::Paused).await;
    // The task that was stopped writes its last.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let kept = in_common(&part_in(&target), &random(LARGE, 9));
    assert!((8..LARGE >> 20).contains(&kept), "{kept} groups");
    assert!(!target.join("large").exists());

    pair.anna.stop().await;
    let anna = pair.world.engine("anna").await;
    assert_eq!(status_of(&anna, id).state, TransferState::Paused);
    let before = anna.status().unwrap().wire.received;
    anna.resume_transfer(id).await.unwrap();
    let status = done(&anna, id).await;
    assert!(is_whole(&status), "{status:?}");
    assert_eq!(std::fs::read(target.join("large")).unwrap(), random(LARGE, 9));
    let came = anna.status().unwrap().wire.received - before;
    let missing = (LARGE - (kept << 20)) as u64;
    assert!(came < missing + (8 << 20), "{came} bytes for {missing} that were missing");
    no_leftovers(&target, &anna);
    pair.world.end(&[&anna, &pair.ben]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_given_up_leaves_nothing() {
    let pair = Pair::new().await;
    let (_, target) = pair.large().await;
    let id = pair.anna.pull(&drive_path("ben/shared/large"), Some(target.clone())).await.unwrap();
    begun(&pair.anna).await;
    pair.anna.cancel_transfer(id).await.unwrap();
    wait("nothing is left", async || {
        let empty = std::fs::read_dir(&target).unwrap().count() == 0;
        (empty && noted(&pair.anna) == 0).then_some(())
    })
    .await;
    assert_eq!(pair.anna.resume_transfer(id).await.unwrap_err().class(), ErrorClass::Conflict);
    assert_eq!(pair.anna.pause_transfer(TransferId(99)).await.unwrap_err().class(), ErrorClass::NotFound);
    pair.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_changes_is_pulled_in_one_version() {
    let pair = Pair::new().await;
    let (source, target) = pair.large().await;
    let id = pair.anna.pull(&drive_path("ben/shared/large"), Some(target.clone())).await.unwrap();
    begun(&pair.anna).await;
    let mut newer = random(LARGE, 9);
    newer.truncate(LARGE - 5);
    newer[100] ^= 1;
    newer.extend_from_slice(&random(3 << 20, 10));
    std::fs::write(&source, &newer).unwrap();
    let status = done(&pair.anna, id).await;
    let arrived = std::fs::read(target.join("large")).unwrap();
    // It may have been whole before it changed, or been pulled as it was while it was being written.
    let one = arrived == random(LARGE, 9) || newer.starts_with(&arrived);
    assert!(one, "a mixture of two versions");
    assert!(is_whole(&status), "{status:?}");
    pair.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_goes_away_is_told_and_the_rest_arrives() {
    let pair = Pair::new().await;
    let (source, target) = pair.large().await;
    std::fs::write(source.with_file_name("small"), "x").unwrap();
    let unreadable = source.with_file_name("unreadable");
    std::fs::create_dir(&unreadable).unwrap();
    wait_names(&pair.anna, "ben/shared", &["large", "small", "unreadable"]).await;
    let id = pair.anna.pull(&drive_path("ben/shared"), Some(target.clone())).await.unwrap();
    begun(&pair.anna).await;
    std::fs::remove_file(&source).unwrap();
    let status = done(&pair.anna, id).await;
    if status.state == TransferState::Failed {
        assert!(status.reason.unwrap().contains("large: it is gone at its home"));
        assert!(status.files_done < status.files);
        // It comes back, and `resume` fetches what is missing from where it was.
        std::fs::write(&source, random(LARGE, 9)).unwrap();
        wait_names(&pair.anna, "ben/shared", &["large", "small", "unreadable"]).await;
        pair.anna.resume_transfer(id).await.unwrap();
        let status = done(&pair.anna, id).await;
        assert_eq!(status.state, TransferState::Done, "{status:?}");
    }
    assert_eq!(std::fs::read(target.join("shared/small")).unwrap(), b"x");
    assert_eq!(std::fs::read(target.join("shared/large")).unwrap(), random(LARGE, 9));
    pair.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_survives_restarts_of_both_sides_and_obeys_both() {
    let pair = Pair::new().await;
    let source = pair.folder("film");
    std::fs::write(source.join("large"), random(LARGE, 9)).unwrap();
    let incoming = pair.folder("incoming");
    pair.anna.accept_pushes("ben", Some(incoming.clone())).await.unwrap();
    let id = pair.ben.push(source.clone(), "anna").await.unwrap();
    begun(&pair.anna).await;
    pair.ben.pause_transfer(id).await.unwrap();
    let received = pair.anna.transfers()[0].id;
    until(&pair.anna, received, "paused there too", |status| status.state == TransferState::Paused).await;

    pair.anna.stop().await;
    pair.ben.stop().await;
    let (anna, ben) = (pair.world.engine("anna").await, pair.world.engine("ben").await);
    wait_session(&ben, "anna", SessionStateName::Connected).await;
    ben.resume_transfer(id).await.unwrap();
    until(&anna, received, "it goes on", |status| status.state != TransferState::Paused).await;
    // The receiver goes away in the middle, and comes back.
    anna.stop().await;
    let anna = pair.world.engine("anna").await;
    let sent = done(&ben, id).await;
    assert!(is_whole(&sent), "{sent:?}");
    assert!(is_whole(&done(&anna, received).await));
    assert_eq!(std::fs::read(incoming.join("film/large")).unwrap(), random(LARGE, 9));
    no_leftovers(&incoming, &anna);

    // Given up by its sender it is given up everywhere.
    let id = ben.push(source, "anna").await.unwrap();
    begun(&anna).await;
    ben.cancel_transfer(id).await.unwrap();
    let received = anna.transfers().last().unwrap().id;
    until(&anna, received, "given up there too", |status| status.state == TransferState::Cancelled).await;
    wait("nothing is left", async || (noted(&anna) == 0).then_some(())).await;
    pair.world.end(&[&anna, &ben]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pull_waits_for_a_contact_that_is_away() {
    let pair = Pair::new().await;
    let (_, target) = pair.large().await;
    pair.ben.stop().await;
    let id = pair.anna.pull(&drive_path("ben/shared/large"), Some(target.join("as I like"))).await.unwrap();
    until(&pair.anna, id, "it waits", |status| status.state == TransferState::Waiting).await;
    let ben = pair.world.engine("ben").await;
    let status = done(&pair.anna, id).await;
    assert!(is_whole(&status), "{status:?}");
    assert_eq!(std::fs::read(target.join("as I like")).unwrap(), random(LARGE, 9));
    pair.world.end(&[&pair.anna, &ben]).await;
}

/// Takes the room of a file system, all but some.
fn fill(folder: &Path, leave: u64) -> PathBuf {
    let path = folder.join("filler");
    let mut file = std::fs::File::create(&path).unwrap();
    let room = |file: &std::fs::File| {
        let stat = rustix::fs::fstatvfs(file).unwrap();
        stat.f_bavail * stat.f_frsize
    };
    // Others take room meanwhile: then it is full, too.
    while room(&file) > leave && file.write_all(&[1; 1 << 16]).is_ok() {}
    path
}

/// A small file system, as long as this lives.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(point: &Path) -> Option<Self> {
        let flags = rustix::mount::MountFlags::empty();
        match rustix::mount::mount("farhold-test", point, "tmpfs", flags, Some(c"size=270m")) {
            Ok(()) => Some(Self(point.to_owned())),
            Err(error) => {
                eprintln!("not run: a small file system cannot be mounted here: {error}");
                None
            }
        }
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        rustix::mount::unmount(&self.0, rustix::mount::UnmountFlags::DETACH).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_pauses_and_room_lets_it_go_on() {
    let pair = Pair::new().await;
    let (_, target) = pair.large().await;
    let Some(disk) = SmallDisk::mount(&target) else { return pair.end().await };
    // Known before it begins.
    let filler = fill(&target, 100 << 20);
    let id = pair.anna.pull(&drive_path("ben/shared/large"), Some(target.clone())).await.unwrap();
    let early = done(&pair.anna, id).await;
    std::fs::remove_file(filler).unwrap();
    // Somebody else takes the room while it runs.
    pair.anna.resume_transfer(id).await.unwrap();
    begun(&pair.anna).await;
    let filler = fill(&target, 0);
    let late = done(&pair.anna, id).await;
    std::fs::remove_file(filler).unwrap();
    let kept = noted(&pair.anna);
    pair.anna.resume_transfer(id).await.unwrap();
    let last = done(&pair.anna, id).await;
    let arrived = std::fs::read(target.join("large"));
    drop(disk);
    for status in [early, late] {
        let told = status.reason.unwrap_or_default();
        assert_eq!(status.state, TransferState::Paused, "{told}");
        assert!(told.contains("the disk is full: ") && told.ends_with(" MB needed"), "{told}");
    }
    assert!(kept >= 8, "{kept} groups kept");
    assert!(is_whole(&last), "{last:?}");
    assert_eq!(arrived.unwrap(), random(LARGE, 9));
    pair.end().await;
}
