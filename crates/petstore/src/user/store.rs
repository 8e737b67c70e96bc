//! Users in the database: the account, and the profile that the store adds to it.

use db::{Error, Keyed, Record, Tx, WriteTx};
use identity::{
    PasswordHash,
    account::{self, Name},
};
use jiff::Timestamp;
use model::sql;
use serde_json::json;
use uuid::Uuid;

use super::{User, UserChanges};

/// A user who is created.
#[derive(Clone)]
pub(crate) struct NewRow {
    pub(crate) user: User,
    /// Whether the id was assigned, so that another one can be used.
    pub(crate) assigned: bool,
    pub(crate) name: Name,
    pub(crate) hash: Option<PasswordHash>,
}

/// The changes to a user.
pub(crate) struct Change {
    pub(crate) user: UserChanges,
    pub(crate) name: Option<Name>,
    pub(crate) hash: Option<PasswordHash>,
    /// The session of the request, which stays when the password changes; `None` if sessions are not checked.
    pub(crate) session: Option<String>,
}

/// Why nothing was changed.
pub(crate) enum UserError {
    NameTaken(Name),
    IdTaken(i64),
    /// An assigned id is taken; another one can be used.
    AssignedTaken,
    Unknown,
    /// The session of the request has ended.
    SessionEnded,
    Db(Error),
}

impl From<Error> for UserError {
    fn from(error: Error) -> Self {
        UserError::Db(error)
    }
}

pub(crate) fn by_name(tx: &mut Tx<'_>, name: &Name) -> Result<Option<User>, Error> {
    let found: Option<User> = tx.record(
        sql!(
            "SELECT {User as store_user} FROM account JOIN store_user ON store_user.account_id = account.id
             WHERE account.name = $1"
        ),
        &[name.as_str().into()],
    )?;
    Ok(found.map(|user| User { username: name.to_string(), ..user }))
}

/// The profile of an account, if it is after this one. It is deleted with the account.
pub(crate) fn export(tx: &mut Tx<'_>, account: Uuid, after: &[u8]) -> Result<Vec<Keyed>, Error> {
    tx.rows(
        "SELECT id, first_name, last_name, email, phone, user_status FROM store_user
         WHERE account_id = $1 AND account_id > $2",
        &[account.into(), Uuid::from_slice(after).unwrap_or_default().into()],
        |row| {
            let document = json!({
                "id": row.get::<i64>(0)?,
                "first_name": row.get::<Option<String>>(1)?,
                "last_name": row.get::<Option<String>>(2)?,
                "email": row.get::<Option<String>>(3)?,
                "phone": row.get::<Option<String>>(4)?,
                "user_status": row.get::<Option<i64>>(5)?,
            });
            Ok(Keyed { key: account.into_bytes().to_vec(), document })
        },
    )
}

/// Who creates users.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Creator {
    /// The operator, or a visitor if the settings allow it.
    Operator,
    /// A user who has logged in. Users that a demo user creates are demo users too.
    User(Uuid),
    /// A visitor of a demo: these users work only in the demo.
    Demo,
}

/// Adds users, all or none.
pub(crate) fn insert_all(
    tx: &mut WriteTx<'_>,
    users: &[NewRow],
    maker: Creator,
    now: Timestamp,
) -> Result<(), UserError> {
    let demo = match maker {
        Creator::Operator => false,
        Creator::User(account) => account::is_demo(tx, account)?,
        Creator::Demo => true,
    };
    let insert = if demo { account::insert_demo } else { account::insert };
    for NewRow { user, assigned, name, hash } in users {
        if !insert(tx, user.account_id, name, hash.as_ref(), now)? {
            return Err(UserError::NameTaken(name.clone()));
        }
        if !insert_profile(tx, user)? {
            return Err(if *assigned { UserError::AssignedTaken } else { UserError::IdTaken(user.id) });
        }
    }
    Ok(())
}

/// Adds the profile of an account; `false` when the id is taken.
pub(crate) fn insert_profile(tx: &mut WriteTx<'_>, user: &User) -> Result<bool, Error> {
    let added = tx.execute(
        sql!("INSERT INTO store_user ({User}) VALUES ({User.values}) ON CONFLICT DO NOTHING"),
        &user.values()?,
    )?;
    Ok(added == 1)
}

/// Changes a user: the id, the name and the password if they differ, and all other members to the sent ones.
pub(crate) fn change(
    tx: &mut WriteTx<'_>,
    account: Uuid,
    change: &Change,
    now: Timestamp,
) -> Result<(), UserError> {
    // Locks the row, so that the next statement sets the id that it has. Only the constraint knows whether a new one is free:
    // another transaction may be about to commit it.
    let moved = tx.row(
        "UPDATE store_user SET id = COALESCE($2, id) WHERE account_id = $1 RETURNING id",
        &[account.into(), change.user.id.into()],
        |row| row.get(0),
    );
    let id = match (moved, change.user.id) {
        (Ok(Some(id)), _) => id,
        (Ok(None), _) => return Err(UserError::Unknown),
        (Err(Error::Unique(_)), Some(taken)) => return Err(UserError::IdTaken(taken)),
        (Err(error), _) => return Err(error.into()),
    };
    let mut user = User { account_id: account, id, ..User::default() };
    change.user.apply_to(&mut user);
    tx.execute(sql!("UPDATE store_user SET {User.set} WHERE account_id = $1"), &user.values()?)?;
    if let Some(name) = &change.name
        && !account::rename(tx, account, name, now)?
    {
        return Err(UserError::NameTaken(name.clone()));
    }
    let set = match (&change.hash, &change.session) {
        (None, _) => true,
        (Some(hash), Some(session)) => account::set_password_in_session(tx, account, hash, session, now)?,
        (Some(hash), None) => account::set_password_unchecked(tx, account, hash, now)?,
    };
    if !set {
        return Err(UserError::SessionEnded);
    }
    Ok(())
}

/// Deletes a user with the account and all rows that belong to it.
pub(crate) fn delete(tx: &mut WriteTx<'_>, id: Uuid) -> Result<bool, Error> {
    account::remove(tx, id)
}
