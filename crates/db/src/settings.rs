//! The location of the databases, and limits on their use.

use std::{path::PathBuf, time::Duration};

/// The engine, and the location of the databases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// A file per service in this folder.
    Sqlite(PathBuf),
    /// A schema per service in this database: `postgres://user:password@host/database?sslmode=verify-full`. PostgreSQL's
    /// environment variables (`PGHOST` and so on) set the parts that the URL does not contain.
    Postgres(String),
}

/// Limits on concurrent use.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Units of a service that may wait for SQLite's writer, for a permit of a long read, or for a PostgreSQL thread.
    /// The next unit gets [`Error::Busy`](crate::Error::Busy) at once.
    pub queue: usize,
    /// PostgreSQL connections (and threads) of this process, for all its services.
    pub connections: usize,
    /// How long a unit may wait in its queue, and how long PostgreSQL may take for each answer.
    pub wait: Duration,
    /// How long the first connection attempt waits for PostgreSQL to accept connections.
    pub start: Duration,
}

/// How many times shorter the queue of a group's database is: there may be hundreds.
const GROUP_PART: usize = 16;

impl Limits {
    pub(crate) fn of_group(self) -> Self {
        Limits { queue: (self.queue / GROUP_PART).max(1), ..self }
    }

    pub const DEFAULT: Limits =
        Limits { queue: 4096, connections: 16, wait: Duration::from_secs(5), start: Duration::from_secs(30) };
}

impl Default for Limits {
    fn default() -> Self {
        Limits::DEFAULT
    }
}
