//! The transaction that a unit of work uses while it runs.

use std::ops::{Deref, DerefMut};

use tokio_postgres::Row as PostgresRow;

use crate::{
    error::{Error, Failure},
    postgres::connection::Session,
    record::Record,
    row::{EngineRow, Row},
    scope::Scope,
    sql::LOCK,
    sqlite::connection::Connection as Sqlite,
    value::Value,
};

/// A transaction that reads. Statements are `&'static str`, so that input cannot become SQL.
pub struct Tx<'c> {
    connection: Engine<'c>,
    scope: Scope,
    statements: usize,
    failure: Option<Failure>,
}

pub(crate) enum Engine<'c> {
    Sqlite(&'c mut Sqlite),
    Postgres(Session<'c>),
    /// Notes the statement of a unit that reads with one, and its parameters.
    Capture(&'c mut Option<(&'static str, Vec<Value<'static>>)>),
    /// The rows of that statement.
    Replay(&'static str, &'c [PostgresRow]),
}

impl Engine<'_> {
    /// The statement was noted: the unit ends here, and runs again with its rows.
    fn capture(
        captured: &mut Option<(&'static str, Vec<Value<'static>>)>,
        sql: &'static str,
        params: &[Value<'_>],
    ) -> Error {
        *captured = Some((sql, params.iter().map(Value::to_static).collect()));
        Error::Aborted
    }

    fn replay<'r>(
        captured: &'static str,
        rows: &'r [PostgresRow],
        sql: &'static str,
    ) -> Result<&'r [PostgresRow], Error> {
        let is_same = std::ptr::eq(captured, sql);
        is_same.then_some(rows).ok_or_else(|| Error::Fault("a unit ran another statement than before".into()))
    }
}

impl<'c> Tx<'c> {
    pub(crate) fn new(connection: Engine<'c>, scope: Scope) -> Self {
        Tx { connection, scope, statements: 0, failure: None }
    }

    pub(crate) fn failure(&self) -> Option<Failure> {
        self.failure
    }

    /// The outcome of a closure. One that ignored the error of a failed statement has failed.
    pub(crate) fn checked<R, E: From<Error>>(&self, outcome: Result<R, E>) -> Result<R, E> {
        match outcome {
            Ok(_) if self.failure.is_some() => Err(Error::Aborted.into()),
            outcome => outcome,
        }
    }

    /// All rows of a statement, each converted into a `T`. The statement must bound their number (`LIMIT`).
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
                    found.push(read(&Row(EngineRow::Sqlite(row)))?);
                }
                Ok(found)
            }),
            Engine::Postgres(connection) => {
                let rows = connection.query(sql, params)?;
                rows.iter().map(|row| read(&Row(EngineRow::Postgres(row)))).collect()
            }
            Engine::Capture(captured) => Err(Engine::capture(captured, sql, params)),
            Engine::Replay(captured, rows) => {
                let rows = Engine::replay(captured, rows, sql)?;
                rows.iter().map(|row| read(&Row(EngineRow::Postgres(row)))).collect()
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
                    Some(row) => Some(read(&Row(EngineRow::Sqlite(row)))?),
                    None => return Ok(None),
                };
                // A statement that writes (`… RETURNING`) completes only when all its rows have been read.
                while rows.next()?.is_some() {}
                Ok(found)
            }),
            Engine::Postgres(connection) => {
                let rows = connection.query(sql, params)?;
                rows.first().map(|row| read(&Row(EngineRow::Postgres(row)))).transpose()
            }
            Engine::Capture(captured) => Err(Engine::capture(captured, sql, params)),
            Engine::Replay(captured, rows) => {
                let rows = Engine::replay(captured, rows, sql)?;
                rows.first().map(|row| read(&Row(EngineRow::Postgres(row)))).transpose()
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

    /// Runs statements that are made at run time, of this crate's own text only, and discards their rows.
    pub(crate) fn batch(&mut self, sql: &str) -> Result<(), Error> {
        self.statement(|connection| match connection {
            Engine::Sqlite(connection) => connection.batch(sql),
            Engine::Postgres(connection) => connection.batch(sql),
            Engine::Capture(_) | Engine::Replay(..) => Err(Error::Fault("this text is not shared".into())),
        })
    }

    /// The rows of such a statement, as text. Null is an empty text.
    pub(crate) fn texts(&mut self, sql: &str) -> Result<Vec<Vec<String>>, Error> {
        self.statement(|connection| match connection {
            Engine::Sqlite(connection) => connection.texts(sql),
            Engine::Postgres(connection) => connection.texts(sql),
            Engine::Capture(_) | Engine::Replay(..) => Err(Error::Fault("this text is not shared".into())),
        })
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
            self.failure = Some(error.into());
        }
        outcome
    }
}

/// A transaction that also writes. It dereferences to [`Tx`], which functions that only read take.
pub struct WriteTx<'c>(Tx<'c>);

impl<'c> WriteTx<'c> {
    pub(crate) fn new(connection: Engine<'c>) -> Self {
        WriteTx(Tx::new(connection, Scope::Transaction))
    }

    /// Runs a statement and gives the number of rows it changed.
    pub fn execute(&mut self, sql: &'static str, params: &[Value<'_>]) -> Result<u64, Error> {
        self.0.statement(|connection| match connection {
            Engine::Sqlite(connection) => connection.with(sql, params, |statement| {
                statement.raw_execute().map(|changed| changed as u64).map_err(Error::from)
            }),
            Engine::Postgres(connection) => connection.execute(sql, params),
            Engine::Capture(_) | Engine::Replay(..) => Err(Error::Fault("a read cannot write".into())),
        })
    }

    /// Runs such statements. On SQLite they run without triggers, and foreign keys are not checked.
    pub(crate) fn batch_unchecked(&mut self, texts: &[String]) -> Result<(), Error> {
        self.0.statement(|connection| match connection {
            Engine::Sqlite(connection) => connection.batch_unchecked(texts),
            Engine::Postgres(connection) => texts.iter().try_for_each(|sql| connection.batch(sql)),
            Engine::Capture(_) | Engine::Replay(..) => Err(Error::Fault("a read cannot write".into())),
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
