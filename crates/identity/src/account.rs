//! Accounts: who may sign in to a service.

use db::{Db, Tx, WriteTx};
use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use unicode_normalization::UnicodeNormalization;
use uuid::Uuid;

/// An account as signing in needs it.
pub(crate) struct Account {
    pub(crate) id: Uuid,
    pub(crate) password_hash: Option<String>,
    pub(crate) demo: bool,
}

/// The longest name, in characters, and the longest password, in bytes.
pub(crate) const LONGEST_NAME: usize = 100;
pub(crate) const LONGEST_PASSWORD: usize = 1024;

/// Why an account's name or password is not taken: one line for a person.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    #[error("a name must have 1 to {LONGEST_NAME} characters")]
    NameLength,
    #[error("a name must not contain control characters, or a colon, which HTTP Basic cannot carry")]
    NameCharacters,
    #[error("a password must have at least 8 characters and at most {LONGEST_PASSWORD} bytes")]
    PasswordLength,
    #[error("a password must not contain control characters")]
    PasswordCharacters,
}

/// Text in the one form that all ways of typing it have in common (NFC, as RFC 7617 wants it): the same name looks the same
/// to a person, and should to us, whatever machine it was typed on.
pub(crate) fn composed(text: &str) -> String {
    text.nfc().collect()
}

pub(crate) fn check_name(name: &str) -> Result<(), Unfit> {
    if !(1..=LONGEST_NAME).contains(&name.chars().count()) {
        return Err(Unfit::NameLength);
    }
    if name.contains(|c: char| c.is_control() || c == ':') {
        return Err(Unfit::NameCharacters);
    }
    Ok(())
}

pub(crate) fn check_password(password: &SecretString) -> Result<(), Unfit> {
    let password = password.expose_secret();
    if password.chars().count() < 8 || password.len() > LONGEST_PASSWORD {
        return Err(Unfit::PasswordLength);
    }
    if password.contains(char::is_control) {
        return Err(Unfit::PasswordCharacters);
    }
    Ok(())
}

pub(crate) async fn by_name(db: &Db, name: &str) -> Result<Option<Account>, db::Error> {
    let name = name.to_owned();
    db.read(move |tx| find(tx, &name)).await
}

fn find(tx: &mut Tx<'_>, name: &str) -> Result<Option<Account>, db::Error> {
    tx.row("SELECT id, password_hash, demo FROM account WHERE name = $1", &[name.into()], |row| {
        Ok(Account { id: row.get(0)?, password_hash: row.get(1)?, demo: row.get(2)? })
    })
}

/// Adds an account; `false` when the name is taken.
pub(crate) fn insert(
    tx: &mut WriteTx<'_>,
    id: Uuid,
    name: &str,
    hash: &str,
    demo: bool,
    now: Timestamp,
) -> Result<bool, db::Error> {
    let added = tx.execute(
        "INSERT INTO account (id, name, password_hash, demo, created_at) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (name) DO NOTHING",
        &[id.into(), name.into(), hash.into(), demo.into(), now.into()],
    )?;
    Ok(added == 1)
}

/// Sets a password; `false` when there is no such account. The new password is nobody's well-known one.
pub(crate) fn set_password(tx: &mut WriteTx<'_>, name: &str, hash: &str) -> Result<bool, db::Error> {
    let changed = tx.execute(
        "UPDATE account SET password_hash = $2, demo = $3 WHERE name = $1",
        &[name.into(), hash.into(), false.into()],
    )?;
    Ok(changed == 1)
}

/// Removes an account; `false` when there is none of that name.
pub(crate) fn remove(tx: &mut WriteTx<'_>, name: &str) -> Result<bool, db::Error> {
    Ok(tx.execute("DELETE FROM account WHERE name = $1", &[name.into()])? == 1)
}
