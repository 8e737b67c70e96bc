//! Users in the database: the account, and what the store knows beside it.

use db::{Error, Tx, WriteTx};
use identity::{
    PasswordHash,
    account::{self, Name},
};
use jiff::Timestamp;
use uuid::Uuid;

use super::{Account, Profile, User};

/// A user to be.
#[derive(Clone)]
pub(crate) struct NewRow {
    pub(crate) account: Uuid,
    pub(crate) id: i64,
    /// Whether we chose the id, so that another will do.
    pub(crate) assigned: bool,
    pub(crate) username: Name,
    pub(crate) hash: Option<PasswordHash>,
    pub(crate) profile: Profile,
}

/// What a user is to become.
pub(crate) struct Change {
    pub(crate) id: Option<i64>,
    pub(crate) username: Option<Name>,
    pub(crate) hash: Option<PasswordHash>,
    /// The session that asks for it, which stays when the password is another.
    pub(crate) session: String,
    pub(crate) profile: Profile,
}

/// Why nothing was changed.
pub(crate) enum Refused {
    NameTaken(Name),
    IdTaken(i64),
    /// An id that we chose is taken; another will do.
    AssignedTaken,
    Unknown,
    /// The session that asked for it was ended meanwhile.
    SessionEnded,
    Db(Error),
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Refused::Db(error)
    }
}

pub(crate) fn by_name(tx: &mut Tx<'_>, name: &Name) -> Result<Option<Account>, Error> {
    tx.row(
        "SELECT account.id, store_user.id, account.name, first_name, last_name, email, phone, user_status
         FROM account JOIN store_user ON store_user.account_id = account.id WHERE account.name = $1",
        &[name.as_str().into()],
        |row| {
            let profile = Profile {
                first_name: row.get(3)?,
                last_name: row.get(4)?,
                email: row.get(5)?,
                phone: row.get(6)?,
                user_status: row.get::<Option<i64>>(7)?.and_then(|status| i32::try_from(status).ok()),
            };
            Ok(Account { account: row.get(0)?, user: User::new(row.get(1)?, row.get(2)?, profile) })
        },
    )
}

/// Who makes users.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Maker {
    /// The operator, or a visitor whom the operator's settings let make them.
    Operator,
    /// A user who has logged in. Users that one of a demo makes are the demo's, too.
    User(Uuid),
    /// A visitor of a demo: they work as long as it is one.
    Demo,
}

/// Adds users, all or none.
pub(crate) fn insert_all(
    tx: &mut WriteTx<'_>,
    users: &[NewRow],
    maker: Maker,
    now: Timestamp,
) -> Result<(), Refused> {
    let demo = match maker {
        Maker::Operator => false,
        Maker::User(account) => account::is_demo(tx, account)?,
        Maker::Demo => true,
    };
    let insert = if demo { account::insert_demo } else { account::insert };
    for user in users {
        if !insert(tx, user.account, &user.username, user.hash.as_ref(), now)? {
            return Err(Refused::NameTaken(user.username.clone()));
        }
        if !insert_profile(tx, user.account, user.id, &user.profile)? {
            return Err(if user.assigned { Refused::AssignedTaken } else { Refused::IdTaken(user.id) });
        }
    }
    Ok(())
}

/// Adds what the store knows of an account; `false` when the id is taken.
pub(crate) fn insert_profile(
    tx: &mut WriteTx<'_>,
    account: Uuid,
    id: i64,
    profile: &Profile,
) -> Result<bool, Error> {
    let added = tx.execute(
        "INSERT INTO store_user (id, account_id, first_name, last_name, email, phone, user_status)
         VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING",
        &[
            id.into(),
            account.into(),
            profile.first_name.as_deref().into(),
            profile.last_name.as_deref().into(),
            profile.email.as_deref().into(),
            profile.phone.as_deref().into(),
            profile.user_status.into(),
        ],
    )?;
    Ok(added == 1)
}

pub(crate) fn change(tx: &mut WriteTx<'_>, id: Uuid, change: &Change, now: Timestamp) -> Result<(), Refused> {
    let profile = &change.profile;
    let changed = tx.execute(
        "UPDATE store_user SET first_name = $2, last_name = $3, email = $4, phone = $5, user_status = $6
         WHERE account_id = $1",
        &[
            id.into(),
            profile.first_name.as_deref().into(),
            profile.last_name.as_deref().into(),
            profile.email.as_deref().into(),
            profile.phone.as_deref().into(),
            profile.user_status.into(),
        ],
    )?;
    if changed == 0 {
        return Err(Refused::Unknown);
    }
    if let Some(number) = change.id {
        // No look beforehand whether it is free: somebody may be about to commit it, which only the constraint knows.
        let moved =
            tx.execute("UPDATE store_user SET id = $2 WHERE account_id = $1", &[id.into(), number.into()]);
        match moved {
            Ok(_) => {}
            Err(Error::Unique(_)) => return Err(Refused::IdTaken(number)),
            Err(error) => return Err(error.into()),
        }
    }
    if let Some(name) = &change.username
        && !account::rename(tx, id, name, now)?
    {
        return Err(Refused::NameTaken(name.clone()));
    }
    if let Some(hash) = &change.hash
        && !account::set_password_in_session(tx, id, hash, &change.session, now)?
    {
        return Err(Refused::SessionEnded);
    }
    Ok(())
}

/// Deletes a user with the account and all that hangs on it.
pub(crate) fn delete(tx: &mut WriteTx<'_>, id: Uuid) -> Result<bool, Error> {
    account::remove(tx, id)
}
