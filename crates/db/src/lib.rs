//! Storage: one SQL text on SQLite or PostgreSQL.
//!
//! A [`Db`] runs units of work. A unit is a synchronous closure over a transaction, so no transaction stays open across an
//! await or a network call:
//!
//! ```no_run
//! # async fn example(db: db::Db) -> Result<(), db::Error> {
//! let name = db
//!     .read(move |tx| tx.row("SELECT name FROM pet WHERE id = $1", &[7.into()], |row| row.get::<String>(0)))
//!     .await?;
//! db.write(move |tx| tx.execute("UPDATE pet SET name = $1 WHERE id = $2", &["Rex".into(), 7.into()])).await?;
//! # Ok(())
//! # }
//! ```
//!
//! - A **read** has one statement; a **snapshot** has several, which all see one state. Neither can write.
//! - A **write** is answered after its commit is durable. It may run more than once before that (another unit of its batch
//!   failed, or PostgreSQL reported a conflict), so it must have no effect except through its transaction.
//! - A read that may be **stale** ([`Db::read_stale`]) runs on a replica of PostgreSQL, if there is one.
//! - A **full queue** answers [`Error::Busy`] at once, so memory stays bounded while the database is slow.
//!
//! On SQLite a read runs on the calling thread, and one thread runs all writes and commits many at once. On PostgreSQL a pool
//! of threads, each with its own connection, runs the units of all services, one service after another. PostgreSQL runs
//! writes at READ COMMITTED: where two may compete, let one statement decide (`INSERT … ON CONFLICT`,
//! `UPDATE … WHERE … RETURNING`) or lock the row first ([`WriteTx::lock`]).
//!
//! [`tx`] shows what a unit can do; `sqlite` and `postgres` show how each engine runs it.

mod catalog;
mod copies;
mod copy_tables;
mod database;
mod databases;
mod deadline;
mod error;
mod export;
mod long_reads;
mod migration;
mod name;
mod postgres;
pub mod private;
mod record;
mod row;
mod scope;
mod settings;
mod sql;
mod sqlite;
#[doc(hidden)]
pub mod statement;
pub mod transfer;
pub mod tx;
mod unit;
mod value;
mod word;

pub use database::Db;
pub use databases::Databases;
pub use error::{Error, OpenError};
pub use migration::Migrations;
pub use name::is_name;
pub use record::{Bind, Keyed, Record, to_json, to_json_or_null};
pub use row::{Column, Json, Row};
pub use settings::{Limits, Location};
pub use tx::{Tx, WriteTx};
pub use value::Value;
pub use word::Word;
