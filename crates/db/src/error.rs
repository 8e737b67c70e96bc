//! Errors of a unit of work, by what the caller can do about them, and errors of opening a database.

use thiserror::Error as ThisError;

/// Why a unit of work did not happen. All its changes are rolled back.
#[derive(Debug, ThisError)]
pub enum Error {
    /// Too many units wait. This one was not started; a later retry may succeed.
    #[error("the database is busy: its queue is full")]
    Busy,
    /// The database cannot be reached, or cannot write (no connection, a full disk, an I/O error).
    #[error("the database is unavailable: {0}")]
    Unavailable(String),
    /// A unique constraint failed. The text names the constraint (PostgreSQL) or its columns (SQLite). A statement that
    /// expects the conflict uses `ON CONFLICT` instead of this text.
    #[error("a unique constraint failed: {0}")]
    Unique(String),
    /// Another constraint failed: a foreign key, a check, NOT NULL.
    #[error("a constraint failed: {0}")]
    Constraint(String),
    /// A column could not be read as the type asked for.
    #[error("column {index}: {cause}")]
    Column { index: usize, cause: String },
    /// The number of parameters differs from the number that the statement names.
    #[error("a statement names {named} parameters and was given {given}")]
    Parameters { named: usize, given: usize },
    /// An earlier statement failed, which aborts the transaction on both engines.
    #[error("an earlier statement of this transaction failed")]
    Aborted,
    /// The closure panicked, or used its transaction in a way that is not allowed: a bug in this program.
    #[error("{0}")]
    Fault(String),
    /// The engine rejected a statement for another reason.
    #[error("{0}")]
    Engine(String),
    /// A conflict with another transaction. PostgreSQL units are retried before a caller gets this error.
    #[error("a conflict with another transaction: {0}")]
    Conflict(String),
}

impl Error {
    pub(crate) fn closed() -> Self {
        Error::Unavailable("the database was closed".into())
    }
}

/// Whether a retry of a failed unit may succeed. It is kept apart from the error, which the closure may have converted into
/// its own type.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    /// A conflict, or a connection that broke before the commit.
    Transient,
    Permanent,
}

impl From<&Error> for Failure {
    fn from(error: &Error) -> Self {
        match error {
            Error::Conflict(_) | Error::Unavailable(_) => Failure::Transient,
            _ => Failure::Permanent,
        }
    }
}

/// Why a database could not be opened: one line for the operator.
#[derive(Debug, ThisError)]
#[error("{0}")]
pub struct OpenError(String);

impl OpenError {
    /// Joins the lines of the text: an engine's message may have details, hints and the statement.
    pub(crate) fn new(text: &str) -> Self {
        OpenError(text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" "))
    }
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
            // The operator can repair a read-only file system. A write on a connection that only reads is a bug.
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
        let Some(db_error) = error.as_db_error() else {
            let text = with_source(&error);
            // A parameter that does not fit its column leaves the connection usable.
            return if error.is_closed() || io_kind(&error).is_some() {
                Error::Unavailable(text)
            } else {
                Error::Engine(text)
            };
        };
        let text = db_error.message().to_owned();
        let constraint = || db_error.constraint().unwrap_or(&text).to_owned();
        match db_error.code() {
            &SqlState::T_R_SERIALIZATION_FAILURE | &SqlState::T_R_DEADLOCK_DETECTED => Error::Conflict(text),
            // The statement timeout, mostly of a wait for a lock: like SQLite's busy timeout.
            &SqlState::QUERY_CANCELED => Error::Busy,
            &SqlState::DUPLICATE_PSTATEMENT => Error::Unavailable(text),
            &SqlState::UNIQUE_VIOLATION => Error::Unique(constraint()),
            code => match &code.code()[..2] {
                "23" => Error::Constraint(constraint()),
                // 08 connection, 26 a pooler lost a prepared statement, 28 authentication, 3D unknown database, 53 out of
                // resources, 57 operator intervention (shutdown), 58 system.
                "08" | "26" | "28" | "3D" | "53" | "57" | "58" => Error::Unavailable(text),
                _ => Error::Engine(text),
            },
        }
    }
}

/// The kind of the I/O error that caused this one, if there is one.
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

/// An error with its causes, in one line.
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
