//! The one owner of contacts and settings: orders and events come in one after the other, and each is done, written
//! to disk and published before the next is looked at. What only reads uses what was published.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use farhold_catalog::Replica;
use farhold_net::{Net, NetEvent, SavedContact};
use farhold_secure::{Code, Side};
use farhold_vfs::ContactView;
use farhold_wire::{ContactId, Name};
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::Instrument;

use crate::adapters::{HomeTree, PeerSource};
use crate::commands::{RateChange, RateLimits};
use crate::config::EngineConfig;
use crate::contacts::file::ContactsFile;
use crate::contacts::{Bond, Contact, ContactBook, ContactError, Pairing, id_of};
use crate::error::EngineError;
use crate::files;
use crate::layout::Layout;
use crate::mounting::Mounter;
use crate::pins::Pins;
use crate::pins::keeper::Keeper;
use crate::replication::Follower;
use crate::seek::FetchMeter;
use crate::settings::Settings;
use crate::storage::{Storage, mark};

mod settings;

/// Orders that may wait: each comes from a caller who waits for its answer.
pub(crate) const ORDERS: usize = 64;

type Reply<T> = oneshot::Sender<Result<T, EngineError>>;

/// What changes contacts or settings.
#[derive(Debug)]
pub(crate) enum Order {
    AddContact {
        name: String,
        code: Code,
        reply: Reply<()>,
    },
    RenameContact {
        old: String,
        new: String,
        reply: Reply<()>,
    },
    RemoveContact {
        name: String,
        reply: Reply<()>,
    },
    Want {
        name: String,
        wanted: bool,
        reply: Reply<ContactId>,
    },
    /// Where a contact's pushes land; without a folder they are refused.
    Accept {
        name: String,
        folder: Option<PathBuf>,
        reply: Reply<()>,
    },
    LimitCache {
        bytes: u64,
        reply: Reply<()>,
    },
    LimitRates {
        change: RateChange,
        reply: Reply<RateLimits>,
    },
    ChangeSettings {
        settings: Box<Settings>,
        reply: Reply<()>,
    },
    /// What a contact shares, if it is paired.
    Replica {
        id: ContactId,
        reply: Reply<Option<Replica>>,
    },
}

/// A paired contact at work.
#[derive(Debug)]
pub(crate) struct Link {
    replica: Replica,
    cancel: CancellationToken,
    following: tokio::task::JoinHandle<Option<()>>,
    keeping: tokio::task::JoinHandle<Option<()>>,
}

/// What the loop owns and uses.
#[derive(Debug)]
pub(crate) struct Controller {
    pub(crate) code: Code,
    pub(crate) layout: Layout,
    /// The options of this run.
    pub(crate) config: EngineConfig,
    pub(crate) settings: watch::Sender<Settings>,
    pub(crate) contacts: watch::Sender<ContactBook>,
    pub(crate) file: ContactsFile,
    pub(crate) net: Net,
    pub(crate) storage: Storage,
    pub(crate) mounter: Mounter,
    pub(crate) meter: FetchMeter,
    pub(crate) pins: Pins,
    pub(crate) tracker: TaskTracker,
    pub(crate) cancel: CancellationToken,
    pub(crate) links: Links,
}

/// The paired contacts at work.
pub(crate) type Links = HashMap<ContactId, Link>;

impl Controller {
    /// Takes up every saved contact where the last run left it.
    pub(crate) async fn resume(&mut self) -> Result<(), EngineError> {
        let book = self.contacts.borrow().clone();
        for contact in book.iter() {
            match &contact.pairing {
                Pairing::Pending => self.net.pair(contact.code).map(drop)?,
                Pairing::Provisional(bond) => {
                    self.net.add(saved(contact, bond, true))?;
                    self.link(contact).await?;
                }
                Pairing::Paired(bond) => {
                    self.net.add(saved(contact, bond, false))?;
                    self.link(contact).await?;
                }
            }
        }
        Ok(())
    }

    /// Does one order or event after the other until cancelled.
    pub(crate) async fn run(
        mut self,
        mut orders: mpsc::Receiver<Order>,
        mut events: mpsc::Receiver<NetEvent>,
    ) {
        let cancel = self.cancel.clone();
        loop {
            tokio::select! {
                () = cancel.cancelled() => break,
                Some(order) = orders.recv() => self.order(order).await,
                Some(event) = events.recv() => self.event(event).await,
                else => break,
            }
        }
        for (_, link) in self.links.drain() {
            end(link).await;
        }
    }

    async fn order(&mut self, order: Order) {
        // A caller who went away does not need the answer.
        match order {
            Order::AddContact { name, code, reply } => drop(reply.send(self.add_contact(&name, code).await)),
            Order::RenameContact { old, new, reply } => {
                drop(reply.send(self.rename_contact(&old, &new).await))
            }
            Order::RemoveContact { name, reply } => drop(reply.send(self.remove_contact(&name).await)),
            Order::Want { name, wanted, reply } => drop(reply.send(self.want(&name, wanted).await)),
            Order::Accept { name, folder, reply } => drop(reply.send(self.accept(&name, folder).await)),
            Order::LimitCache { bytes, reply } => drop(reply.send(self.limit_cache(bytes).await)),
            Order::LimitRates { change, reply } => drop(reply.send(self.limit_rates(change).await)),
            Order::ChangeSettings { settings, reply } => {
                drop(reply.send(self.change_settings(*settings).await));
            }
            Order::Replica { id, reply } => {
                drop(reply.send(Ok(self.links.get(&id).map(|link| link.replica.clone()))));
            }
        }
    }

    async fn event(&mut self, event: NetEvent) {
        let done = match event {
            NetEvent::Paired { code, contact, words } => self.paired(&code, contact, words).await,
            NetEvent::Promoted { id } => self.promoted(id).await,
        };
        if let Err(error) = done {
            tracing::error!("a pairing cannot be kept");
            tracing::debug!("a pairing cannot be kept: {error}");
        }
    }

    async fn add_contact(&mut self, name: &str, code: Code) -> Result<(), EngineError> {
        let mut book = self.book();
        book.add(&self.code, name, code)?;
        // First, since it can refuse; whoever is met before the contact is saved is looked at after it.
        self.net.pair(code)?;
        if let Err(error) = self.save(&book).await {
            self.net.cancel_pairing(&code);
            return Err(error);
        }
        self.contacts.send_replace(book);
        Ok(())
    }

    async fn rename_contact(&mut self, old: &str, new: &str) -> Result<(), EngineError> {
        let mut book = self.book();
        let id = book.rename(old, new)?;
        self.save(&book).await?;
        self.contacts.send_replace(book);
        if self.links.contains_key(&id) {
            self.storage.drive.rename(id, folder(new)?)?;
        }
        Ok(())
    }

    async fn remove_contact(&mut self, name: &str) -> Result<(), EngineError> {
        let mut book = self.book();
        let contact = book.remove(name)?;
        let id = contact.id();
        // Before the contact goes: left over, its shares would be there again when it is added anew.
        self.storage.home.forget_contact(id).await?;
        self.save(&book).await?;
        self.contacts.send_replace(book);
        self.net.cancel_pairing(&contact.code);
        self.net.remove(id);
        self.unlink(id).await;
        // All of it, also if a part fails.
        let unpinned = self.pins.remove(|pin| pin.contact == id).await;
        self.storage.cache.drop_contact(id.0).await;
        let forgotten = self.storage.nodes.forget_contact(id).await;
        self.delete_replica(id).await?;
        unpinned?;
        Ok(forgotten?)
    }

    async fn want(&mut self, name: &str, wanted: bool) -> Result<ContactId, EngineError> {
        let mut book = self.book();
        let id = book.named(name)?.id();
        if book.want(id, wanted) {
            self.save(&book).await?;
            self.contacts.send_replace(book);
        }
        // Also when nothing changed: after a failure, `connect` tries again at once.
        if self.links.contains_key(&id) {
            self.wish(id, wanted)?;
        }
        Ok(id)
    }

    /// A pending contact was met. It is on disk before the peer hears so.
    async fn paired(&mut self, code: &Code, met: SavedContact, words: String) -> Result<(), EngineError> {
        let id = id_of(code);
        let mut book = self.book();
        if !book.paired(id, Bond { keys: met.keys.clone(), secret: met.secret.clone() }, words) {
            // Removed meanwhile.
            self.net.cancel_pairing(code);
            return Ok(());
        }
        self.save(&book).await?;
        // One that was provisional before was met again, and has another secret now.
        self.unlink(id).await;
        let linked = match (self.net.confirm_stored(met), book.get(id)) {
            (Ok(()), Some(contact)) => self.link(contact).await,
            (Ok(()), None) => Ok(()),
            (Err(error), _) => Err(error.into()),
        };
        // Whatever came of it, this is what is on disk. Last, since who waits for the pairing goes on to the session.
        self.contacts.send_replace(book);
        linked
    }

    async fn accept(&mut self, name: &str, folder: Option<PathBuf>) -> Result<(), EngineError> {
        let mut book = self.book();
        book.accept(name, folder)?;
        self.save(&book).await?;
        self.contacts.send_replace(book);
        Ok(())
    }

    async fn promoted(&mut self, id: ContactId) -> Result<(), EngineError> {
        let mut book = self.book();
        if book.promote(id) {
            self.save(&book).await?;
            self.contacts.send_replace(book);
        }
        Ok(())
    }

    /// Shows a contact that `net` knows, follows its changes, and connects or refuses as the user wants.
    async fn link(&mut self, contact: &Contact) -> Result<(), EngineError> {
        let id = contact.id();
        let replica = Replica::open(&self.layout.replica(id)).await?;
        let peer = self.net.peer(id)?;
        let state = self.net.state(id)?;
        let drive = Arc::clone(&self.storage.drive);
        let source = PeerSource {
            contact: id,
            peer: peer.clone(),
            replica: replica.clone(),
            drive: Arc::downgrade(&drive),
            meter: self.meter.clone(),
            state: state.clone(),
        };
        let source = Arc::new(source);
        let view = ContactView {
            id,
            name: folder(&contact.name)?,
            mark: mark(&contact.code),
            mine_first: Side::between(&self.code, &contact.code) == Some(Side::Zero),
            replica: replica.clone(),
            tree: Arc::new(HomeTree(peer.clone())),
            source: Arc::clone(&source) as _,
            cache: self.storage.cache.clone(),
        };
        drive.attach(view).await?;
        let replicated = Arc::new(Notify::new());
        let keeper = Keeper {
            contact: id,
            pins: self.pins.clone(),
            replica: replica.clone(),
            cache: self.storage.cache.clone(),
            source,
            state: state.clone(),
            replicated: Arc::clone(&replicated),
        };
        let follower = Follower { contact: id, peer, replica: replica.clone(), drive, state, replicated };
        let cancel = self.cancel.child_token();
        // At DEBUG, like everything that tells one contact from another.
        let span = tracing::debug_span!("replication", contact = %id);
        let following = cancel.clone().run_until_cancelled_owned(follower.run().instrument(span));
        let following = self.tracker.spawn(following);
        let keeping = self.tracker.spawn(cancel.clone().run_until_cancelled_owned(keeper.run()));
        self.links.insert(id, Link { replica, cancel, following, keeping });
        self.wish(id, contact.wanted)
    }

    async fn unlink(&mut self, id: ContactId) {
        if let Some(link) = self.links.remove(&id) {
            self.storage.drive.detach(id);
            end(link).await;
        }
    }

    /// What is not wanted is refused: the contact may want it.
    fn wish(&self, id: ContactId, wanted: bool) -> Result<(), EngineError> {
        if wanted { self.net.connect(id) } else { self.net.disconnect(id) }.map_err(Into::into)
    }

    fn book(&self) -> ContactBook {
        self.contacts.borrow().clone()
    }

    async fn save(&self, book: &ContactBook) -> Result<(), EngineError> {
        let (file, book) = (self.file.clone(), book.clone());
        blocking(move || file.save(&book)).await
    }

    async fn delete_replica(&self, id: ContactId) -> Result<(), EngineError> {
        let (path, config_dir) = (self.layout.replica(id), self.layout.root().to_owned());
        blocking(move || {
            files::remove_database(&path).map_err(|source| EngineError::ConfigDir { config_dir, source })
        })
        .await
    }
}

async fn end(link: Link) {
    link.cancel.cancel();
    for ended in [link.following.await, link.keeping.await] {
        if let Err(error) = ended {
            tracing::error!("a task that follows a contact failed: {error}");
        }
    }
    link.replica.close().await;
}

fn saved(contact: &Contact, bond: &Bond, provisional: bool) -> SavedContact {
    SavedContact { id: contact.id(), keys: bond.keys.clone(), secret: bond.secret.clone(), provisional }
}

/// A contact's name as its folder's; names are checked when they are saved.
fn folder(name: &str) -> Result<Name, EngineError> {
    Name::new(name.as_bytes().to_vec())
        .map_err(|source| ContactError::Name { name: name.to_owned(), source }.into())
}

/// Runs what waits for the disk where waiting hurts nobody.
pub(crate) async fn blocking<T: Send + 'static, E: Send + 'static>(
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, EngineError>
where
    EngineError: From<E>,
{
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => Ok(done?),
        Err(failed) => Err(EngineError::Task(failed)),
    }
}
