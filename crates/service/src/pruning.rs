//! Old data of a service, which an operator deletes.

use db::{Db, Error, Value};
use jiff::civil::Date;

/// Data that `triptych prune` and the settings `retention` delete when it is old.
pub struct Pruning {
    /// The name in commands and settings: `bookings`.
    pub name: &'static str,
    /// What is deleted, in words: `Bookings of trips, with their payments`.
    pub about: &'static str,
    /// A statement that counts what is from before the date $1.
    pub count: &'static str,
    /// Statements that delete some of it, with the rows that belong to it. They run in one transaction, and again until they find
    /// nothing: a long transaction would stop other writes.
    pub delete: &'static [&'static str],
}

impl Pruning {
    /// How much there is from before a date.
    pub async fn count(&self, db: &Db, before: Date) -> Result<i64, Error> {
        let count = self.count;
        let found = db.read_long(move |tx| tx.row(count, &[before.into()], |row| row.get(0)));
        Ok(found.await?.unwrap_or_default())
    }

    /// Deletes everything from before a date.
    pub async fn delete(&self, db: &Db, before: Date) -> Result<(), Error> {
        let statements = self.delete;
        loop {
            let deleted = db.write(move |tx| {
                let date: Value<'_> = before.into();
                let rows = statements.iter().map(|sql| tx.execute(sql, std::slice::from_ref(&date)));
                rows.sum::<Result<u64, Error>>()
            });
            if deleted.await? == 0 {
                return Ok(());
            }
        }
    }
}
