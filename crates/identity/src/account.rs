//! Accounts in the database.
//!
//! [`Accounts`](crate::Accounts) is what a service usually needs. The functions here are for services that store more about a
//! user in tables of their own, and must commit both together. They run in a transaction of the service:
//!
//! ```no_run
//! # async fn example(accounts: identity::Accounts, db: db::Db, random: web::Random, clock: web::Clock)
//! # -> Result<(), Box<dyn std::error::Error>> {
//! use identity::account::{self, Name};
//!
//! let name = Name::new("ada")?;
//! let hash = accounts.hash(&"correct horse".into()).await?;
//! let now = clock.now();
//! let id = random.uuid(now);
//! let added = db.write(move |tx| {
//!     if !account::insert(tx, id, &name, Some(&hash), now)? {
//!         return Ok(false);
//!     }
//!     tx.execute("INSERT INTO profile (account_id) VALUES ($1)", &[id.into()])?;
//!     Ok::<_, db::Error>(true)
//! });
//! assert!(added.await?);
//! # Ok(())
//! # }
//! ```

use std::fmt;

use db::{Db, Tx, WriteTx};
use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use unicode_normalization::UnicodeNormalization;
use uuid::Uuid;

use crate::{migrations, password::PasswordHash, secret, session};

/// What sign-in needs of an account.
pub(crate) struct Account {
    pub(crate) id: Uuid,
    pub(crate) password_hash: Option<String>,
    pub(crate) demo: bool,
}

/// The longest name, in characters.
pub const LONGEST_NAME: usize = 100;
/// The longest password, in bytes.
pub(crate) const LONGEST_PASSWORD: usize = 1024;

/// Why a name or a password is invalid, in one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AccountError {
    #[error("a name must have 1 to {LONGEST_NAME} characters")]
    NameLength,
    #[error("a name must not contain control characters, or a colon, which HTTP Basic cannot carry")]
    NameCharacters,
    #[error("a name must not contain characters that cannot be seen")]
    NameInvisible,
    #[error("a password must have at least 8 characters and at most {LONGEST_PASSWORD} bytes")]
    PasswordLength,
    #[error("a password must not contain control characters")]
    PasswordCharacters,
    #[error("a password must have 1 to {LONGEST_PASSWORD} bytes")]
    PasswordEmpty,
}

/// A valid name of an account, in the form in which it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Name(String);

impl Name {
    pub fn new(text: &str) -> Result<Self, AccountError> {
        let name = composed(text);
        check_name(&name)?;
        Ok(Name(name))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A text in Unicode NFC, as RFC 7617 requires: names that look the same are the same, on every machine.
pub(crate) fn composed(text: &str) -> String {
    text.nfc().collect()
}

pub(crate) fn check_name(name: &str) -> Result<(), AccountError> {
    if !(1..=LONGEST_NAME).contains(&name.chars().count()) {
        return Err(AccountError::NameLength);
    }
    if name.contains(|c: char| c.is_control() || c == ':') {
        return Err(AccountError::NameCharacters);
    }
    if name.contains(is_invisible) {
        return Err(AccountError::NameInvisible);
    }
    Ok(())
}

/// Whether a character is invisible or changes only how others are shown: with these, one name can look like another.
pub(crate) fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Checks a password of a service that accepts every one that is not empty.
pub fn check_any_password(password: &SecretString) -> Result<(), AccountError> {
    let valid = (1..=LONGEST_PASSWORD).contains(&composed(password.expose_secret()).len());
    if valid { Ok(()) } else { Err(AccountError::PasswordEmpty) }
}

pub(crate) fn check_password(password: &SecretString) -> Result<(), AccountError> {
    let password = password.expose_secret();
    if password.chars().count() < 8 || password.len() > LONGEST_PASSWORD {
        return Err(AccountError::PasswordLength);
    }
    if password.contains(char::is_control) {
        return Err(AccountError::PasswordCharacters);
    }
    Ok(())
}

/// Whether there is an account of this name.
pub async fn exists(db: &Db, name: &str) -> Result<bool, db::Error> {
    Ok(by_name(db, name).await?.is_some())
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

/// Whether this is the hash that an account has now.
pub(crate) async fn has_password(db: &Db, id: Uuid, hash: String) -> Result<bool, db::Error> {
    let same = db.read(move |tx| {
        tx.row(
            "SELECT 1 FROM account WHERE id = $1 AND password_hash = $2",
            &[id.into(), (&hash).into()],
            |_| Ok(()),
        )
    });
    Ok(same.await?.is_some())
}

/// The hash of an account's password, if it has one.
pub(crate) async fn password_of(db: &Db, id: Uuid) -> Result<Option<String>, db::Error> {
    let found = db.read(move |tx| {
        tx.row("SELECT password_hash FROM account WHERE id = $1", &[id.into()], |row| row.get(0))
    });
    Ok(found.await?.flatten())
}

/// The account of this name.
pub fn id_of(tx: &mut Tx<'_>, name: &Name) -> Result<Option<Uuid>, db::Error> {
    tx.row("SELECT id FROM account WHERE name = $1", &[name.as_str().into()], |row| row.get(0))
}

/// Adds an account; `false` when the name is taken. Without a password the account cannot sign in.
pub fn insert(
    tx: &mut WriteTx<'_>,
    id: Uuid,
    name: &Name,
    password: Option<&PasswordHash>,
    now: Timestamp,
) -> Result<bool, db::Error> {
    insert_row(tx, id, name, password, false, now)
}

/// Adds an account that is valid in demo mode only; `false` when the name is taken.
pub fn insert_demo(
    tx: &mut WriteTx<'_>,
    id: Uuid,
    name: &Name,
    password: Option<&PasswordHash>,
    now: Timestamp,
) -> Result<bool, db::Error> {
    insert_row(tx, id, name, password, true, now)
}

/// Whether an account is valid in demo mode only.
pub fn is_demo(tx: &mut Tx<'_>, id: Uuid) -> Result<bool, db::Error> {
    let demo = tx.row("SELECT demo FROM account WHERE id = $1", &[id.into()], |row| row.get(0))?;
    Ok(demo.unwrap_or(false))
}

fn insert_row(
    tx: &mut WriteTx<'_>,
    id: Uuid,
    name: &Name,
    password: Option<&PasswordHash>,
    demo: bool,
    now: Timestamp,
) -> Result<bool, db::Error> {
    let hash = password.map(PasswordHash::as_str);
    let added = tx.execute(
        "INSERT INTO account (id, name, password_hash, demo, created_at) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (name) DO NOTHING",
        &[id.into(), name.as_str().into(), hash.into(), demo.into(), now.into()],
    )?;
    Ok(added == 1)
}

/// Renames an account; `false` when another account has the name, or there is no such account. Sessions stay valid.
pub fn rename(tx: &mut WriteTx<'_>, id: Uuid, name: &Name, now: Timestamp) -> Result<bool, db::Error> {
    // Locks the row: a second transaction that renames the account waits.
    let lock = "SELECT name FROM account WHERE id = $1 FOR NO KEY UPDATE";
    let old = tx.row(lock, &[id.into()], |row| row.get::<String>(0))?;
    let Some(old) = old else { return Ok(false) };
    if old == name.as_str() {
        return Ok(true);
    }
    // An INSERT can handle a conflict with a name that is not committed yet; an UPDATE cannot. So a temporary row takes the
    // name, and is deleted before the commit.
    let temporary = Uuid::from_u128(!id.as_u128());
    if !insert_row(tx, temporary, name, None, false, now)? {
        return Ok(false);
    }
    tx.execute("DELETE FROM account WHERE id = $1", &[temporary.into()])?;
    tx.execute("UPDATE account SET name = $2 WHERE id = $1", &[id.into(), name.as_str().into()])?;
    Ok(true)
}

/// Sets a password by command of the operator, deletes all sessions and revokes all grants; `false` when there is no such
/// account. A demo account becomes a normal one.
pub fn set_password(
    tx: &mut WriteTx<'_>,
    id: Uuid,
    password: &PasswordHash,
    now: Timestamp,
) -> Result<bool, db::Error> {
    tx.execute("UPDATE account SET demo = $2 WHERE id = $1", &[id.into(), false.into()])?;
    set_password_except(tx, id, password, &[], now)
}

/// The same, set by the user in the session of this secret, which stays valid. `false` when that session was deleted
/// meanwhile, or there is no such account; nothing is changed then. A demo account stays one.
pub fn set_password_in_session(
    tx: &mut WriteTx<'_>,
    id: Uuid,
    password: &PasswordHash,
    session: &str,
    now: Timestamp,
) -> Result<bool, db::Error> {
    // Locks the account first: a second session that sets a password waits, and then finds that it was deleted.
    lock(tx, id)?;
    let session = secret::hash(session);
    Ok(session::lock(tx, &session)? && set_password_except(tx, id, password, &session, now)?)
}

/// The same without a session, while sign-in is not enforced: all sessions end. A demo account stays one.
pub fn set_password_unchecked(
    tx: &mut WriteTx<'_>,
    id: Uuid,
    password: &PasswordHash,
    now: Timestamp,
) -> Result<bool, db::Error> {
    lock(tx, id)?;
    set_password_except(tx, id, password, &[], now)
}

fn set_password_except(
    tx: &mut WriteTx<'_>,
    id: Uuid,
    password: &PasswordHash,
    session: &[u8],
    now: Timestamp,
) -> Result<bool, db::Error> {
    let changed = tx.execute(
        "UPDATE account SET password_hash = $2 WHERE id = $1",
        &[id.into(), password.as_str().into()],
    )?;
    end_access_except(tx, id, session, now)?;
    Ok(changed == 1)
}

/// Takes the password from an account, deletes its sessions and revokes its grants.
pub(crate) fn close(tx: &mut WriteTx<'_>, id: Uuid, now: Timestamp) -> Result<(), db::Error> {
    tx.execute("UPDATE account SET password_hash = NULL WHERE id = $1", &[id.into()])?;
    end_access_except(tx, id, &[], now)
}

/// Removes an account with its sessions and grants; `false` when there is no such account. Access tokens of these grants are
/// rejected within seconds, as after any revocation.
pub fn remove(tx: &mut WriteTx<'_>, id: Uuid) -> Result<bool, db::Error> {
    Ok(tx.execute("DELETE FROM account WHERE id = $1", &[id.into()])? == 1)
}

/// Locks an account until the end of this transaction, so that a removal waits; `false` when the account was removed.
pub fn lock(tx: &mut WriteTx<'_>, id: Uuid) -> Result<bool, db::Error> {
    tx.lock("SELECT 1 FROM account WHERE id = $1 FOR NO KEY UPDATE", &[id.into()])
}

/// Ends all access by an account's password: deletes its sessions of both kinds, except that of this hash, and revokes its
/// grants. No session has an empty hash.
fn end_access_except(
    tx: &mut WriteTx<'_>,
    id: Uuid,
    session: &[u8],
    now: Timestamp,
) -> Result<(), db::Error> {
    // Not every service has the tables of sessions and grants.
    let component = migrations::OAUTH.component();
    let has_tables =
        tx.row("SELECT 1 FROM triptych_migration WHERE component = $1", &[component.into()], |_| Ok(()))?;
    if has_tables.is_none() {
        return Ok(());
    }
    // Lock order: session, grant. A transaction that adds a grant locks its session first, so its grant is found here.
    tx.execute("DELETE FROM session WHERE account_id = $1 AND hash <> $2", &[id.into(), session.into()])?;
    tx.execute(
        "UPDATE oauth_grant SET revoked_at = $2 WHERE account_id = $1 AND revoked_at IS NULL",
        &[id.into(), now.into()],
    )
    .map(drop)
}
