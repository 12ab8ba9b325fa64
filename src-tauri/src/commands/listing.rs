//! Folders of the drive.

use std::collections::HashMap;

use farhold_engine::commands::{DrivePath, Listed, ListedKind, Share, ShareState};
use farhold_engine::{PinState, PinStatus};
use tauri::State;
use tauri::ipc::Channel;

use super::Shell;
use crate::dto::{Cached, Crumb, Entry, EntryKind, Failure, HomeSide, Listing, Path};

/// Most entries that the page is told at once.
const CHUNK: usize = 1000;
/// Permission to write, for the user whom the drive belongs to.
const WRITE: u16 = 0o200;

#[tauri::command]
pub(super) async fn list(
    shell: State<'_, Shell>,
    path: Path,
    channel: Channel<Vec<Entry>>,
) -> Result<Listing, Failure> {
    let path = path.drive()?;
    let mut engine = shell.engine()?;
    let listed = engine.list(path.as_ref()).await?;
    let known = Known {
        shares: engine.shares().await?,
        pins: engine.pins().await?.into_iter().map(|pin| (pin.path.clone(), pin)).collect(),
    };
    for chunk in listed.chunks(CHUNK) {
        let entries = chunk.iter().filter_map(|listed| entry(path.as_ref(), listed, &known)).collect();
        channel.send(entries).map_err(|error| Failure::internal("The page is gone", error))?;
    }
    let crumbs = path.as_ref().map(crumbs).unwrap_or_default();
    Ok(Listing { crumbs, entries: listed.len(), contact: path.map(|path| path.contact) })
}

/// What entries are compared with.
struct Known {
    shares: Vec<Share>,
    /// By the path that is pinned.
    pins: HashMap<String, PinStatus>,
}

/// `None` of a name that no contact can have.
fn entry(folder: Option<&DrivePath>, listed: &Listed, known: &Known) -> Option<Entry> {
    let path = match folder {
        Some(folder) => {
            let mut path = folder.clone();
            path.below.push(listed.name.clone());
            path
        }
        None => DrivePath {
            contact: std::str::from_utf8(listed.name.as_bytes()).ok()?.to_owned(),
            below: Vec::new(),
        },
    };
    // Everything below what I share is mine.
    let share = path
        .below
        .first()
        .and_then(|top| known.shares.iter().find(|share| share.with == path.contact && share.name == *top));
    let pin = pin_of(&path, &known.pins);
    let kind = match listed.kind {
        ListedKind::Folder => EntryKind::Folder,
        ListedKind::File => EntryKind::File,
        ListedKind::Symlink => EntryKind::Symlink,
    };
    let unavailable = share.filter(|share| share.state == ShareState::Unavailable).map(|share| {
        format!("{} is missing, unreadable or on another disk than it was.", share.path.display())
    });
    Some(Entry {
        name: listed.name.to_string(),
        kind,
        size: listed.size,
        modified_ms: listed
            .modified
            .seconds
            .saturating_mul(1000)
            .saturating_add(i64::from(listed.modified.nanos) / 1_000_000),
        writable: listed.mode & WRITE != 0,
        home: if share.is_some() { HomeSide::Mine } else { HomeSide::Theirs },
        pinned: pin.is_some(),
        cached: pin.and_then(|pin| cached(pin, &path)),
        unavailable,
        path: Path::of_drive(&path),
    })
}

/// The pin of it, or of a folder that it is in.
fn pin_of<'a>(path: &DrivePath, pins: &'a HashMap<String, PinStatus>) -> Option<&'a PinStatus> {
    if pins.is_empty() {
        return None;
    }
    ancestors(path).find_map(|path| pins.get(&path.to_string()))
}

/// How much of something pinned is here. Of what lies in a pinned folder that is known only once all of it is here.
fn cached(pin: &PinStatus, path: &DrivePath) -> Option<Cached> {
    match pin.state {
        PinState::Whole => Some(Cached::Whole),
        PinState::Fetching | PinState::Waiting | PinState::NoRoom if pin.path == path.to_string() => {
            Some(if pin.cached > 0 { Cached::Part } else { Cached::None })
        }
        PinState::Fetching | PinState::Waiting | PinState::NoRoom | PinState::Gone => None,
    }
}

/// From the contact's folder down to the path itself.
fn ancestors(path: &DrivePath) -> impl Iterator<Item = DrivePath> {
    (0..=path.below.len())
        .map(|depth| DrivePath { contact: path.contact.clone(), below: path.below[..depth].to_vec() })
}

fn crumbs(path: &DrivePath) -> Vec<Crumb> {
    let crumb = |path: DrivePath| Crumb {
        name: path.below.last().map_or_else(|| path.contact.clone(), ToString::to_string),
        path: Path::of_drive(&path),
    };
    ancestors(path).map(crumb).collect()
}

#[cfg(test)]
mod tests {
    use farhold_engine::{Name, Timestamp};

    use super::*;

    fn path(text: &str) -> DrivePath {
        DrivePath::parse(text.as_ref()).unwrap()
    }

    fn pin(path: &str, state: PinState) -> PinStatus {
        PinStatus { path: path.to_owned(), state, files: 1, bytes: 9, cached: 4, reason: None }
    }

    fn listed(name: &[u8], mode: u16) -> Listed {
        let modified = Timestamp { seconds: 2, nanos: 5_000_000 };
        Listed { name: Name::new(name.to_vec()).unwrap(), kind: ListedKind::File, size: 7, modified, mode }
    }

    #[test]
    fn an_entry_says_whose_it_is_and_whether_it_is_pinned() {
        let known = Known {
            shares: vec![Share {
                path: "/home/me/Mine".into(),
                with: "ben".to_owned(),
                name: Name::new("Mine").unwrap(),
                writable: false,
                state: ShareState::Unavailable,
                entries: 1,
            }],
            pins: HashMap::from([("ben/Theirs".to_owned(), pin("ben/Theirs", PinState::Whole))]),
        };
        let mine = entry(Some(&path("ben/Mine")), &listed(b"a\xff", 0o444), &known).unwrap();
        assert_eq!((mine.home, mine.pinned, mine.writable), (HomeSide::Mine, false, false));
        assert!(mine.unavailable.unwrap().contains("/home/me/Mine"));
        use std::os::unix::ffi::OsStrExt;
        assert_eq!(mine.path, Path::new(std::ffi::OsStr::from_bytes(b"ben/Mine/a\xff")));
        assert_eq!(mine.modified_ms, 2005);
        let theirs = entry(Some(&path("ben/Theirs/deep")), &listed(b"a", 0o644), &known).unwrap();
        assert_eq!((theirs.home, theirs.pinned, theirs.writable), (HomeSide::Theirs, true, true));
        assert_eq!(theirs.cached, Some(Cached::Whole));
        // Another contact's of the same name.
        let other = entry(Some(&path("anna/Mine")), &listed(b"a", 0o644), &known).unwrap();
        assert_eq!((other.home, other.pinned), (HomeSide::Theirs, false));
        assert_eq!(entry(None, &listed(b"ben", 0o555), &known).unwrap().path, Path::new("ben"));
    }

    #[test]
    fn how_much_is_here_is_told_as_far_as_pins_know() {
        let fetching = pin("ben/a", PinState::Fetching);
        assert_eq!(cached(&fetching, &path("ben/a")), Some(Cached::Part));
        assert_eq!(cached(&PinStatus { cached: 0, ..fetching.clone() }, &path("ben/a")), Some(Cached::None));
        assert_eq!(cached(&fetching, &path("ben/a/b")), None);
        assert_eq!(cached(&pin("ben/a", PinState::Whole), &path("ben/a/b")), Some(Cached::Whole));
    }

    #[test]
    fn crumbs_lead_from_the_contact_down() {
        let names: Vec<String> = crumbs(&path("ben/a/b")).into_iter().map(|crumb| crumb.name).collect();
        assert_eq!(names, ["ben", "a", "b"]);
        assert_eq!(crumbs(&path("ben/a/b"))[1].path, Path::new("ben/a"));
    }
}
