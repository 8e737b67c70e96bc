//! A database of a group: many are open at once, so each has one connection, and none has a thread.
//!
//! Reads run on the calling thread, on the database's connection. While that one is in use, and for long reads, they use a spare
//! connection. The process keeps a few of these, for the databases that used them last; each thread keeps one, so that threads which
//! read the same database at the same time do not wait for each other. Writes run on threads that all databases of groups share, a
//! batch of one database after a batch of another.

use std::{
    collections::VecDeque,
    io,
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, TryLockError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::{self, JoinHandle, ThreadId},
    time::Duration,
};

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded, unbounded};
use thread_local::ThreadLocal;

use super::{
    connection::{Access, Connection, Size},
    writer::write_batch,
};
use crate::{error::Error, settings::Limits, unit::WriteUnit};

/// How many threads write. Most of the time they wait for the disk.
const WRITERS: usize = 4;

/// How many spare connections are kept, besides those of the threads.
const SPARES: usize = 16;

/// A connection, with the number of its database.
type Spare = (usize, Connection);

/// What the databases of groups share.
pub(crate) struct Shared {
    spares: Mutex<VecDeque<Spare>>,
    /// The one that each thread used last. Only that thread uses the lock, until the database is closed.
    last: ThreadLocal<Mutex<Option<Spare>>>,
    /// Started when the first of these databases is opened.
    writers: Mutex<Option<Arc<Writers>>>,
    next: AtomicUsize,
}

impl Shared {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Shared {
            spares: Mutex::default(),
            last: ThreadLocal::new(),
            writers: Mutex::default(),
            next: AtomicUsize::new(0),
        })
    }

    fn writers(&self, wait: Duration) -> io::Result<Arc<Writers>> {
        let mut writers = lock(&self.writers);
        if let Some(writers) = &*writers {
            return Ok(Arc::clone(writers));
        }
        let started = Arc::new(Writers::start(wait)?);
        Ok(Arc::clone(writers.insert(started)))
    }

    /// Closes the spare connections of a database.
    fn close(&self, number: usize) {
        let last = self.last.iter().filter_map(|last| lock(last).take_if(|(of, _)| *of == number));
        last.for_each(drop);
        while let Some(spare) = self.take(number) {
            drop(spare);
        }
    }

    /// A spare connection of this database.
    fn take(&self, number: usize) -> Option<Connection> {
        let mut spares = lock(&self.spares);
        let found = spares.iter().rposition(|(of, _)| *of == number)?;
        spares.remove(found).map(|(_, connection)| connection)
    }

    /// The spare connection of this database that this thread used last.
    fn take_last(&self, number: usize) -> Option<Connection> {
        let mut last = lock(self.last.get_or_default());
        last.take_if(|(of, _)| *of == number).map(|(_, connection)| connection)
    }

    /// Keeps a connection for this thread.
    fn keep_last(&self, number: usize, connection: Connection) {
        let before = lock(self.last.get_or_default()).replace((number, connection));
        if let Some(before) = before {
            self.keep(before);
        }
    }

    /// Keeps a connection, and closes the one that was used least recently if there are too many.
    fn keep(&self, spare: Spare) {
        let mut spares = lock(&self.spares);
        spares.push_back(spare);
        let oldest = if spares.len() > SPARES { spares.pop_front() } else { None };
        // Closed without the lock.
        drop(spares);
        drop(oldest);
    }
}

pub(super) struct Small {
    path: PathBuf,
    number: usize,
    shared: Arc<Shared>,
    writers: Arc<Writers>,
    file: Arc<File>,
}

/// A database, and the units that wait for a writer.
struct File {
    connection: Mutex<Option<Connection>>,
    /// Whether the connection has the read lock. It changes only while the connection is locked.
    has_read_lock: AtomicBool,
    queue: (Sender<WriteUnit>, Receiver<WriteUnit>),
    /// Whether a writer will serve the queue.
    scheduled: AtomicBool,
    /// Whether a writer waits for the connection. Reads leave it free then: they would overtake the writer again and again.
    wanted: AtomicBool,
    /// The thread that writes now.
    writer: Mutex<Option<ThreadId>>,
    /// The last clone of the database was dropped by the thread that writes, which then closes the connection.
    closed: AtomicBool,
}

impl Small {
    pub(super) fn new(
        path: PathBuf,
        connection: Connection,
        shared: &Arc<Shared>,
        limits: Limits,
    ) -> io::Result<Self> {
        let file = Arc::new(File {
            connection: Mutex::new(Some(connection)),
            has_read_lock: AtomicBool::new(false),
            queue: bounded(limits.queue),
            scheduled: AtomicBool::new(false),
            wanted: AtomicBool::new(false),
            writer: Mutex::default(),
            closed: AtomicBool::new(false),
        });
        let writers = shared.writers(limits.wait)?;
        let number = shared.next.fetch_add(1, Ordering::Relaxed);
        Ok(Small { path, number, shared: Arc::clone(shared), writers, file })
    }

    /// Runs a short read on the connection that this thread used last, on the database's, or on a spare one if that is in use.
    pub(super) fn read<R>(&self, run: impl FnOnce(&mut Connection) -> R) -> Result<R, Error> {
        let mut connection = match self.shared.take_last(self.number) {
            Some(last) => {
                self.take_read_lock();
                last
            }
            None => match self.free_connection() {
                Some(connection) => return self.file.read_on(connection, run),
                None => self.spare()?,
            },
        };
        let answer = run(&mut connection);
        self.shared.keep_last(self.number, connection);
        Ok(answer)
    }

    /// Takes the read lock on the database's connection, while threads read on others: see [`Connection::take_read_lock`].
    fn take_read_lock(&self) {
        if !self.file.has_read_lock.load(Ordering::Relaxed)
            && let Some(connection) = self.free_connection()
            && let Some(connection) = connection.as_ref()
        {
            self.file.has_read_lock.store(connection.take_read_lock(), Ordering::Relaxed);
        }
    }

    /// Runs a long read on a spare connection, so that no write waits for it.
    pub(super) fn read_long<R>(&self, run: impl FnOnce(&mut Connection) -> R) -> Result<R, Error> {
        let mut spare = self.spare()?;
        let answer = run(&mut spare);
        self.shared.keep((self.number, spare));
        Ok(answer)
    }

    /// The database's connection, unless it is in use or a writer waits for it.
    fn free_connection(&self) -> Option<MutexGuard<'_, Option<Connection>>> {
        if self.file.wanted.load(Ordering::Relaxed) {
            return None;
        }
        match self.file.connection.try_lock() {
            Ok(connection) => Some(connection),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    fn spare(&self) -> Result<Connection, Error> {
        match self.shared.take(self.number) {
            Some(connection) => Ok(connection),
            None => Connection::open(&self.path, Access::Read, Size::Small),
        }
    }

    pub(super) fn write(&self, unit: WriteUnit) -> Result<(), Error> {
        self.file.queue.0.try_send(unit).map_err(|error| match error {
            TrySendError::Full(_) => Error::Busy,
            TrySendError::Disconnected(_) => Error::closed(),
        })?;
        File::schedule(&self.file, &self.writers.ready)
    }
}

impl Drop for Small {
    /// The file is closed when this returns, unless it runs in a unit of this database.
    fn drop(&mut self) {
        self.shared.close(self.number);
        self.file.closed.store(true, Ordering::Release);
        let writes_here = *lock(&self.file.writer) == Some(thread::current().id());
        if !writes_here {
            self.file.close(&mut lock(&self.file.connection), self.writers.wait);
        }
    }
}

impl File {
    fn read_on<R>(
        &self,
        mut connection: MutexGuard<'_, Option<Connection>>,
        run: impl FnOnce(&mut Connection) -> R,
    ) -> Result<R, Error> {
        let connection = connection.as_mut().ok_or_else(Error::closed)?;
        self.release_read_lock(connection);
        Ok(connection.reading(run))
    }

    /// Ends the read transaction of the database's connection, before the connection is used.
    fn release_read_lock(&self, connection: &Connection) {
        if self.has_read_lock.swap(false, Ordering::Relaxed) {
            connection.roll_back();
        }
    }

    /// Asks a writer to serve the queue, unless one was asked.
    fn schedule(file: &Arc<File>, ready: &Sender<Option<Arc<File>>>) -> Result<(), Error> {
        if file.scheduled.swap(true, Ordering::SeqCst) {
            return Ok(());
        }
        ready.send(Some(Arc::clone(file))).map_err(|_| Error::closed())
    }

    /// Writes one batch.
    fn serve(&self, wait: Duration) {
        self.wanted.store(true, Ordering::Relaxed);
        let mut connection = lock(&self.connection);
        self.wanted.store(false, Ordering::Relaxed);
        *lock(&self.writer) = Some(thread::current().id());
        if let Some(connection) = connection.as_mut() {
            self.release_read_lock(connection);
            write_batch(connection, &self.queue.1, wait);
        }
        *lock(&self.writer) = None;
        if self.closed.load(Ordering::Acquire) {
            self.close(&mut connection, wait);
        }
    }

    /// Writes the queued units, and closes the connection.
    fn close(&self, connection: &mut Option<Connection>, wait: Duration) {
        if let Some(mut connection) = connection.take() {
            self.release_read_lock(&connection);
            while write_batch(&mut connection, &self.queue.1, wait) {}
        }
    }
}

/// The threads that write.
struct Writers {
    /// The files with units to write. A thread ends at `None`.
    ready: Sender<Option<Arc<File>>>,
    threads: Vec<JoinHandle<()>>,
    wait: Duration,
}

impl Writers {
    fn start(wait: Duration) -> io::Result<Self> {
        // Each file is in it once at most.
        let (ready, files) = unbounded::<Option<Arc<File>>>();
        let mut writers = Writers { ready, threads: Vec::with_capacity(WRITERS), wait };
        for _ in 0..WRITERS {
            let (files, ready) = (files.clone(), writers.ready.clone());
            let run = move || {
                while let Ok(Some(file)) = files.recv() {
                    file.serve(wait);
                    file.scheduled.store(false, Ordering::SeqCst);
                    // At the end of the queue, so that the other databases have their turn.
                    if !file.queue.1.is_empty() {
                        let _ = File::schedule(&file, &ready);
                    }
                }
            };
            writers.threads.push(thread::Builder::new().name("sqlite-writers".into()).spawn(run)?);
        }
        Ok(writers)
    }
}

impl Drop for Writers {
    fn drop(&mut self) {
        for _ in &self.threads {
            let _ = self.ready.send(None);
        }
        let this = thread::current().id();
        for thread in self.threads.drain(..).filter(|thread| thread.thread().id() != this) {
            let _ = thread.join();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
