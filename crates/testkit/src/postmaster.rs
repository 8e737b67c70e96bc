//! Waits until a PostgreSQL has started.
//!
//! The server writes its state into a file in its data folder. Before it is ready, it starts a process for each attempt to connect, only to
//! reject it.

use std::{fs, io, path::Path, process::Child, time::Instant};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::inotify::{CreateFlags, WatchFlags, add_watch, init},
    process::{Pid, PidfdFlags, pidfd_open},
};

const FILE: &str = "postmaster.pid";

/// Waits until the server accepts connections. Fails if the server ends before, or at the deadline.
pub(crate) fn wait_until_ready(data: &Path, server: &mut Child, deadline: Instant) -> io::Result<()> {
    let changes = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
    add_watch(&changes, data, WatchFlags::CREATE | WatchFlags::MODIFY)?;
    let end = pidfd_open(Pid::from_child(server), PidfdFlags::empty())?;
    while !says_ready(data, server.id()) {
        if server.try_wait()?.is_some() {
            return Err(io::Error::other("it has ended"));
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let left = Timespec::try_from(left).map_err(io::Error::other)?;
        let mut events = [PollFd::new(&changes, PollFlags::IN), PollFd::new(&end, PollFlags::IN)];
        poll(&mut events, Some(&left))?;
        // Only that something has changed matters: the file is read again.
        match rustix::io::read(&changes, &mut [0; 4096]) {
            Ok(_) | Err(rustix::io::Errno::WOULDBLOCK) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Whether the file is of this process, and not of one that was killed: its first line is the process id, the eighth the state.
fn says_ready(data: &Path, process: u32) -> bool {
    let content = fs::read_to_string(data.join(FILE)).unwrap_or_default();
    let mut lines = content.lines();
    lines.next().is_some_and(|first| first.parse() == Ok(process))
        && lines.nth(6).is_some_and(|status| status.trim() == "ready")
}
