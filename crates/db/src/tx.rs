//! What a unit of work holds while it runs.

use std::ops::{Deref, DerefMut};

use crate::{
    Error, Record, Value,
    postgres::Session,
    row::{Row, Source},
    sql::LOCK,
    sqlite::Connection as Sqlite,
};

/// A transaction that reads. Statements are `&'static str`, so no text of a caller's can become SQL.
pub struct Tx<'c> {
    connection: Engine<'c>,
    scope: Scope,
    statements: usize,
    failure: Option<Failure>,
}

pub(crate) enum Engine<'c> {
    Sqlite(&'c mut Sqlite),
    Postgres(Session<'c>),
}

/// How far a transaction reaches. Most reads are one statement, which is a snapshot by itself and needs no
/// `BEGIN` and `COMMIT` around it: two round trips less on PostgreSQL.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    Statement,
    Transaction,
}

/// Why a unit cannot go on, kept beside the error itself: the closure may have turned that into its own type.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    Conflict,
    Unavailable,
    Other,
}

impl<'c> Tx<'c> {
    pub(crate) fn new(connection: Engine<'c>, scope: Scope) -> Self {
        Tx { connection, scope, statements: 0, failure: None }
    }

    pub(crate) fn failure(&self) -> Option<Failure> {
        self.failure
    }

    /// What a closure says it did: one that swallowed a failed statement's error has not done it.
    pub(crate) fn checked<R, E: From<Error>>(&self, outcome: Result<R, E>) -> Result<R, E> {
        match outcome {
            Ok(_) if self.failure.is_some() => Err(Error::Aborted.into()),
            outcome => outcome,
        }
    }

    /// All rows of a statement, each turned into a `T`. The statement bounds their number (`LIMIT`).
    pub fn rows<T>(
        &mut self,
        sql: &'static str,
        params: &[Value<'_>],
        mut read: impl FnMut(&Row<'_>) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        self.statement(|connection| match connection {
            Engine::Sqlite(connection) => connection.with(sql, params, |statement| {
                let mut rows = statement.raw_query();
                let mut found = Vec::new();
                while let Some(row) = rows.next()? {
                    found.push(read(&Row(Source::Sqlite(row)))?);
                }
                Ok(found)
            }),
            Engine::Postgres(connection) => {
                let rows = connection.query(sql, params)?;
                rows.iter().map(|row| read(&Row(Source::Postgres(row)))).collect()
            }
        })
    }

    /// The first row of a statement, if it has one.
    pub fn row<T>(
        &mut self,
        sql: &'static str,
        params: &[Value<'_>],
        read: impl FnOnce(&Row<'_>) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        self.statement(|connection| match connection {
            Engine::Sqlite(connection) => connection.with(sql, params, |statement| {
                let mut rows = statement.raw_query();
                let found = match rows.next()? {
                    Some(row) => Some(read(&Row(Source::Sqlite(row)))?),
                    None => return Ok(None),
                };
                // A statement that writes (`… RETURNING`) is only done when it has been stepped to its end.
                while rows.next()?.is_some() {}
                Ok(found)
            }),
            Engine::Postgres(connection) => {
                let rows = connection.query(sql, params)?;
                rows.first().map(|row| read(&Row(Source::Postgres(row)))).transpose()
            }
        })
    }

    /// The record in the first row of a statement whose columns are those of `T`, if it has a row.
    pub fn record<T: Record>(&mut self, sql: &'static str, params: &[Value<'_>]) -> Result<Option<T>, Error> {
        self.row(sql, params, T::from_row)
    }

    /// The records in all rows of a statement whose columns are those of `T`.
    pub fn records<T: Record>(&mut self, sql: &'static str, params: &[Value<'_>]) -> Result<Vec<T>, Error> {
        self.rows(sql, params, T::from_row)
    }

    fn statement<R>(&mut self, run: impl FnOnce(&mut Engine<'c>) -> Result<R, Error>) -> Result<R, Error> {
        if self.failure.is_some() {
            return Err(Error::Aborted);
        }
        self.statements += 1;
        let outcome = if self.scope == Scope::Statement && self.statements > 1 {
            Err(Error::Fault("a read has one statement: several need a snapshot".into()))
        } else {
            run(&mut self.connection)
        };
        if let Err(error) = &outcome {
            self.failure = Some(match error {
                Error::Conflict(_) => Failure::Conflict,
                Error::Unavailable(_) => Failure::Unavailable,
                _ => Failure::Other,
            });
        }
        outcome
    }
}

/// A transaction that also writes. Whatever reads takes a [`Tx`], and a `WriteTx` is one too.
pub struct WriteTx<'c>(Tx<'c>);

impl<'c> WriteTx<'c> {
    pub(crate) fn new(connection: Engine<'c>) -> Self {
        WriteTx(Tx::new(connection, Scope::Transaction))
    }

    /// Runs a statement and says how many rows it changed.
    pub fn execute(&mut self, sql: &'static str, params: &[Value<'_>]) -> Result<u64, Error> {
        self.0.statement(|connection| match connection {
            Engine::Sqlite(connection) => connection.with(sql, params, |statement| {
                statement.raw_execute().map(|changed| changed as u64).map_err(Error::from)
            }),
            Engine::Postgres(connection) => connection.execute(sql, params),
        })
    }

    /// Locks the rows of a `SELECT … FOR NO KEY UPDATE` until the end of the transaction: another transaction that changes,
    /// deletes or locks one of them waits. `false` when there is no such row. The same clause works with [`Tx::row`] and
    /// [`Tx::rows`] where the columns matter.
    pub fn lock(&mut self, sql: &'static str, params: &[Value<'_>]) -> Result<bool, Error> {
        if !sql.ends_with(LOCK) {
            return Err(Error::Fault(format!("a statement that locks rows must end with{LOCK}: {sql}")));
        }
        Ok(!self.rows(sql, params, |_| Ok(()))?.is_empty())
    }
}

impl<'c> Deref for WriteTx<'c> {
    type Target = Tx<'c>;

    fn deref(&self) -> &Tx<'c> {
        &self.0
    }
}

impl DerefMut for WriteTx<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}
