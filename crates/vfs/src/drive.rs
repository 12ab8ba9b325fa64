//! The drive.

mod changes;
mod files;
mod folders;
mod lookup;
mod open;
mod warming;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use farhold_catalog::{CatalogError, ContactId, Home, Name, NodeKey, Nodes};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::attr::{Attr, Change, NodeId, NodeKind, Owner};
use crate::contact::Contact;
use crate::error::VfsError;
use crate::handles::Handles;
use crate::invalidation::{Invalidation, Invalidations};
use crate::known::{KnownNodes, Target};
use crate::peer::ContactView;
use crate::shown::{Marks, ShownNames, Side, TreeRoot};

use files::OpenedFile;
use folders::OpenedFolder;

pub use open::FileInUse;

/// How a drive is made.
#[derive(Debug, Clone)]
pub struct DriveConfig {
    /// The database of trees' names that differ from their homes' ones.
    pub names: PathBuf,
    /// Six characters of my code: they tell my trees from a contact's where both have the same name.
    pub mark: String,
    /// How long any request waits for a contact.
    pub longest_wait: Duration,
}

impl DriveConfig {
    /// With the usual wait: 27 s, so that whoever asked the drive is answered before 28 s.
    pub fn new(names: PathBuf, mark: String) -> Self {
        Self { names, mark, longest_wait: Duration::from_secs(27) }
    }
}

/// Why a drive cannot be made, or a contact not be shown.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// Another contact's folder has that name.
    #[error("another contact is called so")]
    NameTaken,
    /// No such contact.
    #[error("the contact is not shown")]
    NoContact,
    /// The catalog failed.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// The database of names failed.
    #[error("the database of shown names failed")]
    Names(#[from] rusqlite::Error),
    /// A task of the program ended early.
    #[error("a task ended early")]
    Task(#[from] tokio::task::JoinError),
}

/// The drive: what is shown, and what is known of it. The file operations are those of a file system; an adapter
/// calls them, many at once.
#[derive(Debug)]
pub struct Drive {
    home: Home,
    nodes: Nodes,
    mark: String,
    longest_wait: Duration,
    names: ShownNames,
    contacts: RwLock<HashMap<ContactId, Arc<Contact>>>,
    known: Mutex<KnownNodes>,
    files: Handles<OpenedFile>,
    folders: Handles<OpenedFolder>,
    invalidations: Mutex<Invalidations>,
    /// When the top folder last changed.
    touched: Mutex<SystemTime>,
    tasks: TaskTracker,
    cancel: CancellationToken,
}

impl Drive {
    /// Opens the drive without contacts. It follows the changes of `home` until `cancel`; wait for the end of that
    /// with [`close`](Self::close). Must be called in a tokio runtime.
    ///
    /// # Errors
    /// [`DriveError::Names`].
    pub async fn open(
        home: Home,
        nodes: Nodes,
        config: DriveConfig,
        cancel: CancellationToken,
    ) -> Result<Arc<Self>, DriveError> {
        let names = tokio::task::spawn_blocking(move || ShownNames::open(&config.names)).await??;
        let events = home.events();
        let drive = Arc::new(Self {
            home,
            nodes,
            mark: config.mark,
            longest_wait: config.longest_wait,
            names,
            contacts: RwLock::default(),
            known: Mutex::default(),
            files: Handles::new(),
            folders: Handles::new(),
            invalidations: Mutex::default(),
            touched: Mutex::new(SystemTime::now()),
            tasks: TaskTracker::new(),
            cancel: cancel.clone(),
        });
        drive.tasks.spawn(changes::follow_home(Arc::clone(&drive), events, cancel));
        drive.tasks.close();
        Ok(drive)
    }

    /// Waits until nothing follows the home or fetches small files any more, and closes the database of names. The token given at the start
    /// must be cancelled.
    pub async fn close(&self) {
        self.tasks.wait().await;
        self.names.close().await;
    }

    /// Shows a contact; one that is shown already is shown anew.
    ///
    /// # Errors
    /// [`DriveError::NameTaken`], [`DriveError::Catalog`].
    pub async fn attach(&self, view: ContactView) -> Result<(), DriveError> {
        let node = NodeId(self.nodes.number(NodeKey::Contact(view.id)).await?);
        let contact = Arc::new(Contact::new(view, node, self.longest_wait));
        let before = {
            let mut contacts = self.contacts.write().unwrap_or_else(PoisonError::into_inner);
            refuse_taken(&contacts, contact.id(), &contact.name())?;
            contacts.insert(contact.id(), contact)
        };
        if let Some(before) = before {
            before.detach();
            self.forget_name(&before.name());
        }
        self.touch();
        Ok(())
    }

    /// No longer shows a contact. Open files of it fail.
    pub fn detach(&self, contact: ContactId) {
        let contact = self.contacts.write().unwrap_or_else(PoisonError::into_inner).remove(&contact);
        let Some(contact) = contact else { return };
        contact.detach();
        self.invalidate(Invalidation::Removed {
            parent: NodeId::ROOT,
            node: contact.node,
            name: Bytes::copy_from_slice(contact.name().as_bytes()),
        });
        self.touch();
    }

    /// Shows a contact under another name.
    ///
    /// # Errors
    /// [`DriveError::NoContact`], [`DriveError::NameTaken`].
    pub fn rename(&self, contact: ContactId, name: Name) -> Result<(), DriveError> {
        let before = {
            let contacts = self.contacts.write().unwrap_or_else(PoisonError::into_inner);
            refuse_taken(&contacts, contact, &name)?;
            contacts.get(&contact).ok_or(DriveError::NoContact)?.set_name(name)
        };
        self.forget_name(&before);
        self.touch();
        Ok(())
    }

    /// The queue of what the system has to forget from now on. There is one at a time: an earlier one ends.
    pub fn invalidations(&self) -> Invalidations {
        let queue = Invalidations::default();
        let before = std::mem::replace(&mut *lock(&self.invalidations), queue.clone());
        before.close();
        queue
    }

    /// The system forgets `count` of the times that it was told `node`.
    pub fn forget(&self, node: NodeId, count: u64) {
        lock(&self.known).forget(node, count);
    }

    /// The system has ended: it knows no nodes and has nothing open any more.
    pub fn forget_all(&self) {
        lock(&self.known).clear();
        self.files.clear();
        self.folders.clear();
    }

    /// Why a change of `node`, or of an entry in it, is refused. By now all are.
    pub fn refusal(&self, node: NodeId, change: Change) -> VfsError {
        let target = lock(&self.known).target(node);
        match (target, change) {
            // A contact's folder comes and goes with the contact.
            (Some(Target::Top), Change::Create | Change::Remove) => VfsError::NotPermitted,
            (Some(Target::Contact(_)), Change::Remove) => VfsError::Shared,
            (_, Change::Owner | Change::Link) => VfsError::NotPermitted,
            (_, Change::Create | Change::Remove | Change::Content) => VfsError::ReadOnly,
        }
    }

    fn target(&self, node: NodeId) -> Result<Target, VfsError> {
        lock(&self.known).target(node).ok_or(VfsError::Stale)
    }

    fn contact(&self, id: ContactId) -> Result<Arc<Contact>, VfsError> {
        self.contacts.read().unwrap_or_else(PoisonError::into_inner).get(&id).cloned().ok_or(VfsError::Stale)
    }

    fn all_contacts(&self) -> Vec<Arc<Contact>> {
        self.contacts.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// The number of a node, given now if it has none.
    async fn number(&self, target: &Target) -> Result<NodeId, VfsError> {
        if let Some(node) = lock(&self.known).node(target) {
            return Ok(node);
        }
        match target.key() {
            None => Ok(NodeId::ROOT),
            Some(key) => Ok(NodeId(self.nodes.number(key).await.map_err(local)?)),
        }
    }

    /// The trees of a contact's folder, with the names that they are shown by.
    async fn trees(&self, contact: &Contact) -> Result<Vec<Tree>, VfsError> {
        let mine = self.home.roots(contact.id()).await.map_err(local)?;
        let theirs = contact.view.replica.roots().await.map_err(local)?;
        let complete: &[Side] = if theirs.complete { &[Side::Mine, Side::Theirs] } else { &[Side::Mine] };
        let mine = mine.into_iter().map(Root::Mine);
        let roots: Vec<Root> = mine.chain(theirs.entries.into_iter().map(Root::Theirs)).collect();
        let named: Vec<TreeRoot> = roots.iter().map(Root::named).collect();
        let marks =
            Marks { mine: &self.mark, theirs: &contact.view.mark, mine_first: contact.view.mine_first };
        let shown = self.names.of(contact.id(), &named, complete, marks).await;
        Ok(shown.into_iter().map(Bytes::from).zip(roots).map(|(name, root)| Tree { name, root }).collect())
    }

    fn invalidate(&self, item: Invalidation) {
        lock(&self.invalidations).push(item);
    }

    /// The system must look up anew what the top folder shows as `name`.
    fn forget_name(&self, name: &Name) {
        let name = Bytes::copy_from_slice(name.as_bytes());
        self.invalidate(Invalidation::Entry { parent: NodeId::ROOT, name });
    }

    /// The top folder has changed.
    fn touch(&self) {
        *lock(&self.touched) = SystemTime::now();
        self.invalidate(Invalidation::Attributes(NodeId::ROOT));
    }

    fn top_attr(&self) -> Attr {
        own_folder(NodeId::ROOT, *lock(&self.touched))
    }
}

/// A tree of a contact's folder.
#[derive(Debug)]
struct Tree {
    /// As it is shown.
    name: Bytes,
    root: Root,
}

#[derive(Debug)]
enum Root {
    Mine(farhold_catalog::OwnEntry),
    Theirs(farhold_catalog::Entry),
}

impl Root {
    fn named(&self) -> TreeRoot {
        let (side, entry) = match self {
            Self::Mine(own) => (Side::Mine, &own.entry),
            Self::Theirs(entry) => (Side::Theirs, entry),
        };
        TreeRoot { side, name: entry.name.as_bytes().to_vec(), id: entry.id }
    }
}

/// Attributes of a folder that is the drive's own.
fn own_folder(node: NodeId, touched: SystemTime) -> Attr {
    Attr {
        node,
        kind: NodeKind::Folder,
        size: 0,
        allocated: 0,
        mode: 0o755,
        owner: Owner::Mounter,
        accessed: touched,
        modified: touched,
        changed: touched,
        links: 1,
    }
}

fn refuse_taken(
    contacts: &HashMap<ContactId, Arc<Contact>>,
    id: ContactId,
    name: &Name,
) -> Result<(), DriveError> {
    let taken = contacts.values().any(|contact| contact.id() != id && contact.name() == *name);
    if taken { Err(DriveError::NameTaken) } else { Ok(()) }
}

/// What trouble with the catalog means for who asks for a node.
fn local(error: CatalogError) -> VfsError {
    match error {
        CatalogError::NotFound => VfsError::NotFound,
        CatalogError::Unavailable => VfsError::Unavailable,
        CatalogError::Denied => VfsError::Denied,
        CatalogError::Disk(_)
        | CatalogError::Database(_)
        | CatalogError::Damaged
        | CatalogError::Newer { .. }
        | CatalogError::Closed => {
            tracing::debug!(%error, "the catalog fails a request on the drive");
            VfsError::LocalFailed
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What the drive keeps under a lock is whole between any two statements, so a panic elsewhere does not spoil it.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
