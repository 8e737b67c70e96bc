//! Writes log lines to standard error, those of many requests with one system call: a call for each line costs more than the
//! line itself.

use std::{
    io::{self, Write},
    mem,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use tracing::{Level, Metadata};
use tracing_subscriber::fmt::MakeWriter;
use web::REQUEST_LOG;

/// How long the line of a request waits for others.
const DELAY: Duration = Duration::from_millis(5);

/// So many bytes are written without a delay.
const ENOUGH: usize = 64 * 1024;

/// At so many bytes, the threads that log wait for the file or the pipe.
const MOST: usize = 1024 * 1024;

/// The lines that are not written yet. Only lines about requests wait; any other is written at once, with all lines before it.
#[derive(Clone)]
pub(super) struct Lines(Arc<Shared>);

struct Shared {
    pending: Mutex<Pending>,
    /// Wakes the thread that writes: the first line, enough lines, or the end.
    ready: Condvar,
    /// Wakes threads that wait until lines have been written.
    written: Condvar,
    /// Held while lines are taken and written, so that they keep their order. Has the buffer that is not in use.
    output: Mutex<Vec<u8>>,
}

#[derive(Default)]
struct Pending {
    text: Vec<u8>,
    closed: bool,
}

/// Writes the remaining lines when it is dropped.
pub(crate) struct Flush {
    lines: Lines,
    thread: Option<thread::JoinHandle<()>>,
}

impl Lines {
    /// Starts the thread that writes.
    pub(super) fn start() -> io::Result<(Self, Flush)> {
        let shared = Shared {
            pending: Mutex::default(),
            ready: Condvar::new(),
            written: Condvar::new(),
            output: Mutex::default(),
        };
        let lines = Lines(Arc::new(shared));
        let writer = lines.clone();
        let thread = thread::Builder::new().name("log".into()).spawn(move || writer.run())?;
        Ok((lines.clone(), Flush { lines, thread: Some(thread) }))
    }

    fn run(&self) {
        let Shared { ready, .. } = &*self.0;
        loop {
            let none = |pending: &mut Pending| pending.text.is_empty() && !pending.closed;
            let few = |pending: &mut Pending| pending.text.len() < ENOUGH && !pending.closed;
            let pending = ready.wait_while(self.pending(), none).unwrap_or_else(PoisonError::into_inner);
            let pending =
                ready.wait_timeout_while(pending, DELAY, few).unwrap_or_else(PoisonError::into_inner).0;
            let closed = pending.closed;
            drop(pending);
            self.flush();
            if closed {
                return;
            }
        }
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.0.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, line: &[u8], urgent: bool) {
        let full = |pending: &mut Pending| pending.text.len() >= MOST && !pending.closed;
        let pending = self.0.written.wait_while(self.pending(), full);
        let mut pending = pending.unwrap_or_else(PoisonError::into_inner);
        let before = pending.text.len();
        pending.text.extend_from_slice(line);
        if before == 0 || (before < ENOUGH && pending.text.len() >= ENOUGH) {
            self.0.ready.notify_one();
        }
        let urgent = urgent || pending.closed;
        drop(pending);
        if urgent {
            self.flush();
        }
    }

    /// Writes all lines that were added before.
    fn flush(&self) {
        let mut text = self.0.output.lock().unwrap_or_else(PoisonError::into_inner);
        mem::swap(&mut *text, &mut self.pending().text);
        // Standard error may be closed; there is no other place to report that.
        let _ = io::stderr().write_all(&text);
        text.clear();
        text.shrink_to(ENOUGH);
        self.0.written.notify_all();
    }
}

impl<'l> MakeWriter<'l> for Lines {
    type Writer = LineWriter<'l>;

    fn make_writer(&'l self) -> LineWriter<'l> {
        LineWriter { lines: self, urgent: true }
    }

    fn make_writer_for(&'l self, metadata: &Metadata<'_>) -> LineWriter<'l> {
        LineWriter {
            lines: self,
            urgent: metadata.target() != REQUEST_LOG || *metadata.level() < Level::INFO,
        }
    }
}

pub(super) struct LineWriter<'l> {
    lines: &'l Lines,
    urgent: bool,
}

impl Write for LineWriter<'_> {
    /// Gets a whole line each time.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.lines.add(line, self.urgent);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Flush {
    fn drop(&mut self) {
        self.lines.pending().closed = true;
        self.lines.0.ready.notify_one();
        let _ = self.thread.take().map(thread::JoinHandle::join);
    }
}
