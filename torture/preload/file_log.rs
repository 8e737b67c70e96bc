//! Notes what a process does to the files of one folder.
//!
//! The process is loaded with this library (`LD_PRELOAD`), whose functions replace those of the C library. Each does what that
//! function does, and then appends a record to the log. The folder is in `FILE_LOG_FOLDER`, the path of the log in `FILE_LOG`.

mod calls;
mod real;
mod record;

use std::{
    ffi::{CStr, OsStr, c_char, c_int},
    fs::{self, File, OpenOptions},
    io::Write,
    mem::ManuallyDrop,
    os::{fd::FromRawFd, unix::ffi::OsStrExt},
    path::{Path, PathBuf},
    process::abort,
    sync::{
        Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use record::Record;

const HERE: c_int = -100;

/// The open files of the folder, by descriptor: their inode, or 0.
static OPEN: [AtomicU64; 1 << 16] = [const { AtomicU64::new(0) }; 1 << 16];

struct Log {
    folder: PathBuf,
    file: File,
    /// Held during a call and the note of it, so that the log has the order of the calls.
    order: Mutex<()>,
}

static LOG: OnceLock<Log> = OnceLock::new();

#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

/// Runs before the process's own code. Until it ends, the functions note nothing.
extern "C" fn start() {
    let (Some(folder), Some(log)) = (std::env::var_os("FILE_LOG_FOLDER"), std::env::var_os("FILE_LOG"))
    else {
        return;
    };
    let Ok(file) = OpenOptions::new().append(true).create(true).open(log) else { abort() };
    let _ = LOG.set(Log { folder: folder.into(), file, order: Mutex::new(()) });
}

/// No thread of this process, and no other process, changes a file of the folder in the meantime.
struct Order<'a>(#[expect(dead_code, reason = "held")] MutexGuard<'a, ()>, &'a Log);

impl Drop for Order<'_> {
    fn drop(&mut self) {
        let _ = self.1.file.unlock();
    }
}

impl Log {
    fn order(&self) -> Order<'_> {
        let guard = self.order.lock().unwrap_or_else(PoisonError::into_inner);
        // The mutex is for threads, which share this file; the lock of the file is for other processes.
        if self.file.lock().is_err() {
            abort();
        }
        Order(guard, self)
    }

    /// A log with a gap would prove nothing, so the process ends with it.
    fn note(&self, record: &Record<'_>) {
        if (&self.file).write_all(&record.write()).is_err() {
            abort();
        }
    }

    /// The path below the folder, if the file is there.
    fn path(&self, at: c_int, path: *const c_char) -> Option<PathBuf> {
        // SAFETY: it is a path, as the caller passed it to a function of the C library.
        let path = Path::new(OsStr::from_bytes(unsafe { CStr::from_ptr(path) }.to_bytes()));
        let absolute = match at {
            _ if path.is_absolute() => path.to_owned(),
            HERE => std::env::current_dir().ok()?.join(path),
            _ => fs::read_link(format!("/proc/self/fd/{at}")).ok()?.join(path),
        };
        absolute.strip_prefix(&self.folder).ok().map(Path::to_owned)
    }
}

/// A file that is not closed when the value is dropped.
fn borrowed(descriptor: c_int) -> ManuallyDrop<File> {
    // SAFETY: the descriptor is open, and stays open.
    ManuallyDrop::new(unsafe { File::from_raw_fd(descriptor) })
}

fn slot(descriptor: c_int) -> Option<&'static AtomicU64> {
    OPEN.get(usize::try_from(descriptor).ok()?)
}

/// The log, and the inode of an open file of the folder.
fn tracked(descriptor: c_int) -> Option<(&'static Log, u64)> {
    let inode = slot(descriptor)?.load(Relaxed);
    LOG.get().filter(|_| inode != 0).map(|log| (log, inode))
}
