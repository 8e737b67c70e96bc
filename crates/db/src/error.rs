//! What can go wrong in a unit of work, sorted by what the caller can do about it.

use thiserror::Error as ThisError;

/// A unit of work that did not happen: whatever it had changed is rolled back.
#[derive(Debug, ThisError)]
pub enum Error {
    /// More work is waiting than the database gets done. Nothing was started; trying again later may succeed.
    #[error("the database is busy: its queue is full")]
    Busy,
    /// The database cannot be reached, or cannot write (no connection, a full disk, an I/O error).
    #[error("the database is unavailable: {0}")]
    Unavailable(String),
    /// A unique constraint said no. The text names the constraint (PostgreSQL) or its columns (SQLite); a
    /// statement that expects this says `ON CONFLICT` instead of reading it.
    #[error("a unique constraint failed: {0}")]
    Unique(String),
    /// Any other constraint: a foreign key, a check, NOT NULL.
    #[error("a constraint failed: {0}")]
    Constraint(String),
    /// A column could not be read as the type asked for.
    #[error("column {index}: {cause}")]
    Column { index: usize, cause: String },
    /// A statement was given another number of parameters than it names.
    #[error("a statement names {named} parameters and was given {given}")]
    Parameters { named: usize, given: usize },
    /// A statement after one that failed: the transaction is lost, on both engines alike.
    #[error("an earlier statement of this transaction failed")]
    Aborted,
    /// The closure did something the unit does not allow, or panicked: a fault in our own code.
    #[error("{0}")]
    Fault(String),
    /// The engine refused a statement for any other reason.
    #[error("{0}")]
    Engine(String),
    /// A conflict with another transaction that retrying resolves; PostgreSQL units are retried before a
    /// caller sees it.
    #[error("a conflict with another transaction: {0}")]
    Conflict(String),
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode;
        let text = error.to_string();
        let rusqlite::Error::SqliteFailure(failure, message) = error else {
            return Error::Engine(text);
        };
        let message = message.unwrap_or(text);
        match failure.code {
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => Error::Busy,
            ErrorCode::DiskFull
            | ErrorCode::SystemIoFailure
            | ErrorCode::CannotOpen
            | ErrorCode::PermissionDenied
            | ErrorCode::OutOfMemory
            | ErrorCode::FileLockingProtocolFailed
            | ErrorCode::DatabaseCorrupt
            | ErrorCode::NotADatabase => Error::Unavailable(message),
            // Read-only by the file system is the operator's; read-only by our own reader is a fault of ours.
            ErrorCode::ReadOnly if failure.extended_code != rusqlite::ffi::SQLITE_READONLY => {
                Error::Unavailable(message)
            }
            ErrorCode::ConstraintViolation
                if matches!(
                    failure.extended_code,
                    rusqlite::ffi::SQLITE_CONSTRAINT_UNIQUE | rusqlite::ffi::SQLITE_CONSTRAINT_PRIMARYKEY
                ) =>
            {
                Error::Unique(message)
            }
            ErrorCode::ConstraintViolation => Error::Constraint(message),
            _ => Error::Engine(message),
        }
    }
}

impl From<tokio_postgres::Error> for Error {
    fn from(error: tokio_postgres::Error) -> Self {
        use tokio_postgres::error::SqlState;
        let Some(refusal) = error.as_db_error() else {
            let text = with_source(&error);
            // A parameter that does not fit its column is no fault of the connection.
            return if error.is_closed() || io_kind(&error).is_some() {
                Error::Unavailable(text)
            } else {
                Error::Engine(text)
            };
        };
        let text = refusal.message().to_owned();
        let constraint = || refusal.constraint().unwrap_or(&text).to_owned();
        match refusal.code() {
            &SqlState::T_R_SERIALIZATION_FAILURE | &SqlState::T_R_DEADLOCK_DETECTED => Error::Conflict(text),
            // The statement timeout, which waiting for a lock runs into: what SQLite's busy timeout is.
            &SqlState::QUERY_CANCELED => Error::Busy,
            &SqlState::DUPLICATE_PSTATEMENT => Error::Unavailable(text),
            &SqlState::UNIQUE_VIOLATION => Error::Unique(constraint()),
            code => match &code.code()[..2] {
                "23" => Error::Constraint(constraint()),
                // 26 and 42P05: a pooler lost a prepared statement. 08 connection, 28 not let in, 3D no such database, 53 out of resources, 57 operator intervention
                // (shutdown), 58 system
                "08" | "26" | "28" | "3D" | "53" | "57" | "58" => Error::Unavailable(text),
                _ => Error::Engine(text),
            },
        }
    }
}

/// What kind of I/O error caused this one, if any did.
pub(crate) fn io_kind(error: &tokio_postgres::Error) -> Option<std::io::ErrorKind> {
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        if let Some(io) = inner.downcast_ref::<std::io::Error>() {
            return Some(io.kind());
        }
        cause = inner.source();
    }
    None
}

/// An error with what caused it, in one line.
pub(crate) fn with_source(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    text
}
