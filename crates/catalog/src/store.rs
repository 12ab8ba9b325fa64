//! `SQLite` databases as everything here uses them: one thread that writes, a few connections that read beside it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags};
use tokio::sync::{Semaphore, mpsc, oneshot, watch};

use crate::CatalogError;

/// Writes that may wait at once.
const WRITES_WAITING: usize = 64;
/// Reads at once; more wait.
const READERS: usize = 8;
/// Prepared statements that each connection keeps.
const STATEMENTS: usize = 64;
/// How long a connection waits for another one's lock. Only recovery after a crash takes noticeable time.
const BUSY: Duration = Duration::from_secs(10);

/// What a database holds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Format {
    /// Whose database it is: a database of another kind is not taken for it.
    pub(crate) kind: &'static str,
    /// Rises when `create` changes.
    pub(crate) version: i64,
    /// Makes the tables of a new database.
    pub(crate) create: &'static str,
    /// A commit that was answered survives a power cut. Otherwise it survives a crash of the program only, and after
    /// a power cut the database is as it was some commits before.
    pub(crate) durable: bool,
}

/// How a database came to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// It was there.
    Existing,
    /// There was none.
    New,
    /// There was a damaged one, which is kept under this name.
    Replaced(PathBuf),
}

type Job = Box<dyn FnOnce(&mut Connection) + Send>;

/// An open database. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Store {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    path: PathBuf,
    jobs: Mutex<Option<mpsc::Sender<Job>>>,
    ended: watch::Receiver<bool>,
    readers: Arc<Semaphore>,
    idle: Mutex<Vec<Connection>>,
}

impl Store {
    /// Opens the database at `path`, makes it if there is none, and sets it aside first if it is damaged. Blocks.
    pub(crate) fn open(path: &Path, format: Format) -> Result<(Self, Origin), CatalogError> {
        let mut origin = if path.exists() { Origin::Existing } else { Origin::New };
        if verdict_path(path).exists() {
            origin = Origin::Replaced(set_aside(path)?);
        }
        let connection = match connect(path, format) {
            Err(CatalogError::Database(error)) if is_damage(&error) => {
                origin = Origin::Replaced(set_aside(path)?);
                connect(path, format)?
            }
            other => other?,
        };
        let (sender, receiver) = mpsc::channel(WRITES_WAITING);
        let (ended_sender, ended) = watch::channel(false);
        std::thread::Builder::new()
            .name(format!("{}-writer", format.kind))
            .spawn(move || {
                write_until_closed(connection, receiver);
                ended_sender.send_replace(true);
            })
            .map_err(CatalogError::Disk)?;
        let shared = Shared {
            path: path.to_owned(),
            jobs: Mutex::new(Some(sender)),
            ended,
            readers: Arc::new(Semaphore::new(READERS)),
            idle: Mutex::new(Vec::new()),
        };
        Ok((Self { shared: Arc::new(shared) }, origin))
    }

    /// Runs `job` on the writing thread.
    pub(crate) async fn write<R, F>(&self, job: F) -> Result<R, CatalogError>
    where
        R: Send + 'static,
        F: FnOnce(&mut Connection) -> Result<R, CatalogError> + Send + 'static,
    {
        let (job, answer) = with_answer(job);
        self.jobs()?.send(job).await.map_err(|_| CatalogError::Closed)?;
        self.judge(answer.await.map_err(|_| CatalogError::Closed)?)
    }

    /// The same for a thread that may block.
    pub(crate) fn write_blocking<R, F>(&self, job: F) -> Result<R, CatalogError>
    where
        R: Send + 'static,
        F: FnOnce(&mut Connection) -> Result<R, CatalogError> + Send + 'static,
    {
        let (job, answer) = with_answer(job);
        self.jobs()?.blocking_send(job).map_err(|_| CatalogError::Closed)?;
        self.judge(answer.blocking_recv().map_err(|_| CatalogError::Closed)?)
    }

    /// Runs `query` on a blocking thread. It sees every commit so far, and none that comes while it runs.
    pub(crate) async fn read<R, F>(&self, query: F) -> Result<R, CatalogError>
    where
        R: Send + 'static,
        F: FnOnce(&Connection) -> Result<R, CatalogError> + Send + 'static,
    {
        let permit = self.shared.readers.clone().acquire_owned().await.map_err(|_| CatalogError::Closed)?;
        let store = self.clone();
        tokio::task::spawn_blocking(move || {
            let _permit = permit;
            store.read_blocking(query)
        })
        .await
        .map_err(|_| CatalogError::Closed)?
    }

    /// The same on this thread.
    pub(crate) fn read_blocking<R>(
        &self,
        query: impl FnOnce(&Connection) -> Result<R, CatalogError>,
    ) -> Result<R, CatalogError> {
        drop(self.jobs()?);
        let idle = lock(&self.shared.idle).pop();
        let connection = match idle {
            Some(connection) => connection,
            None => self.judge(reader(&self.shared.path))?,
        };
        let result = self.judge(in_one_view(&connection, query));
        let mut idle = lock(&self.shared.idle);
        if idle.len() < READERS && lock(&self.shared.jobs).is_some() {
            idle.push(connection);
        }
        result
    }

    /// Ends the writing thread after what waits, and waits until the database is closed.
    pub(crate) async fn close(&self) {
        let jobs = lock(&self.shared.jobs).take();
        // Readers first: only the last connection to close can tidy the log away, and readers may not write.
        if let Ok(all) = self.shared.readers.acquire_many(READERS as u32).await {
            all.forget();
            self.shared.readers.close();
        }
        lock(&self.shared.idle).clear();
        drop(jobs);
        // An error means that the thread is gone, which is what is waited for.
        let _ = self.shared.ended.clone().wait_for(|ended| *ended).await;
    }

    fn jobs(&self) -> Result<mpsc::Sender<Job>, CatalogError> {
        lock(&self.shared.jobs).clone().ok_or(CatalogError::Closed)
    }

    /// Remembers damage beside the database, so that the next start sets it aside.
    fn judge<R>(&self, result: Result<R, CatalogError>) -> Result<R, CatalogError> {
        match result {
            Err(CatalogError::Database(error)) if is_damage(&error) => {
                tracing::error!(%error, "a database of the catalog is damaged; the next start sets it aside");
                if let Err(error) = std::fs::write(verdict_path(&self.shared.path), b"") {
                    tracing::error!(%error, "the damage cannot be remembered");
                }
                Err(CatalogError::Damaged)
            }
            other => other,
        }
    }
}

fn in_one_view<R>(
    connection: &Connection,
    query: impl FnOnce(&Connection) -> Result<R, CatalogError>,
) -> Result<R, CatalogError> {
    let view = connection.unchecked_transaction()?;
    let result = query(&view)?;
    view.commit()?;
    Ok(result)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn with_answer<R, F>(job: F) -> (Job, oneshot::Receiver<Result<R, CatalogError>>)
where
    R: Send + 'static,
    F: FnOnce(&mut Connection) -> Result<R, CatalogError> + Send + 'static,
{
    let (sender, receiver) = oneshot::channel();
    let job = Box::new(move |connection: &mut Connection| {
        // Whoever asked may have gone.
        let _ = sender.send(job(connection));
    });
    (job, receiver)
}

fn write_until_closed(mut connection: Connection, mut jobs: mpsc::Receiver<Job>) {
    while let Some(job) = jobs.blocking_recv() {
        job(&mut connection);
    }
    if let Err((_, error)) = connection.close() {
        tracing::warn!(%error, "a database of the catalog did not close");
    }
}

fn connect(path: &Path, format: Format) -> Result<Connection, CatalogError> {
    let mut connection = Connection::open(path)?;
    connection.busy_timeout(BUSY)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // Holds for a new database only, and only before its first table.
    connection.pragma_update(None, "auto_vacuum", "incremental")?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", if format.durable { "full" } else { "normal" })?;
    connection.pragma_update(None, "cache_size", -4096)?;
    connection.pragma_update(None, "journal_size_limit", 16 << 20)?;
    connection.pragma_update(None, "temp_store", "memory")?;
    let transaction = connection.transaction()?;
    let tables: i64 = transaction.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if tables == 0 {
        transaction.execute_batch("CREATE TABLE format (kind TEXT NOT NULL, version INTEGER NOT NULL);")?;
        transaction.execute("INSERT INTO format VALUES (?1, ?2)", (format.kind, format.version))?;
        transaction.execute_batch(format.create)?;
    } else {
        let (kind, version): (String, i64) = transaction
            .query_row("SELECT kind, version FROM format", [], |row| Ok((row.get(0)?, row.get(1)?)))
            .map_err(|_| damage())?;
        if kind != format.kind {
            return Err(damage().into());
        }
        if version != format.version {
            return Err(CatalogError::Newer { found: version, known: format.version });
        }
    }
    transaction.commit()?;
    give_back(&connection)?;
    Ok(connection)
}

/// Gives back the room of what went since the last start, such as a large share.
fn give_back(connection: &Connection) -> Result<(), CatalogError> {
    let mut statement = connection.prepare("PRAGMA incremental_vacuum")?;
    let mut pages = statement.query([])?;
    // Each step frees one page.
    while pages.next()?.is_some() {}
    Ok(())
}

fn reader(path: &Path) -> Result<Connection, CatalogError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    connection.pragma_update(None, "cache_size", -1024)?;
    Ok(connection)
}

/// What is said of a row or table that this program cannot have written.
pub(crate) fn damage() -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT), None)
}

fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

fn verdict_path(path: &Path) -> PathBuf {
    beside(path, ".is-damaged")
}

/// Moves a damaged database out of the way. The one set aside before goes: it held no more.
fn set_aside(path: &Path) -> Result<PathBuf, CatalogError> {
    let kept = beside(path, ".damaged");
    for suffix in ["", "-wal", "-shm"] {
        match std::fs::rename(beside(path, suffix), beside(&kept, suffix)) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            other => other.map_err(CatalogError::Disk)?,
        }
    }
    match std::fs::remove_file(verdict_path(path)) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        other => other.map_err(CatalogError::Disk)?,
    }
    tracing::error!("a damaged database of the catalog was set aside");
    tracing::debug!(kept = %kept.display(), "where it is kept");
    Ok(kept)
}

#[cfg(test)]
mod tests;
