//! The operations on users.

use axum::{extract::State, response::Response};
use http::StatusCode;
use identity::{
    ChangeError, SignUps,
    account::{self, LONGEST_NAME, Name},
    security::{Event, Origin, Outcome},
};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{RefOr, schema::Schema},
};
use uuid::Uuid;
use web::{
    Body, Path, Problem, ResponseFormat, Result, WithBody,
    problem::{CONFLICT, FORBIDDEN, Invalid, NOT_FOUND, TOO_MANY_REQUESTS, UNAVAILABLE, UNPROCESSABLE},
};

use super::{
    NewUser, NewUsers, User, UserChanges,
    logged_in::{self, ListCreator, LoggedIn},
    store::{self, Change, Creator, NewRow, UserError},
    username_schema,
};
use crate::{Petstore, SignUp};

/// Create a user
#[utoipa::path(
    post, path = "/user", operation_id = "createUser", tag = "user",
    request_body = NewUser,
    responses(
        (status = 200, description = "The user.", body = User),
        (status = 409, description = "The username or the id is taken."),
    ),
    security(("session" = [])),
)]
pub(crate) async fn create(
    caller: LoggedIn,
    format: ResponseFormat,
    State(petstore): State<Petstore>,
    origin: Origin,
    Body(new): Body<NewUser>,
) -> Result<Response> {
    let user = petstore.create_users(vec![new], caller.creator(), &origin).await?;
    Ok(format.reply(&user))
}

/// Create several users
///
/// Creates all users or none, and returns the last one. It needs a user who has logged in, unless the service is a demo or its
/// settings open it. Without the demo, an address can create a limited number of users an hour.
#[utoipa::path(
    post, path = "/user/createWithList", operation_id = "createUsersWithListInput", tag = "user",
    request_body = inline(NewUsers),
    responses(
        (status = 200, description = "The last user of the list.", body = User),
        (status = 409, description = "A username or an id is taken."),
    ),
    security((), ("session" = [])),
)]
pub(crate) async fn create_list(
    ListCreator(maker): ListCreator,
    format: ResponseFormat,
    State(petstore): State<Petstore>,
    origin: Origin,
    Body(NewUsers(new)): Body<NewUsers>,
) -> Result<Response> {
    // After the rules of the body: the limit of the address is in the settings of the store.
    if let Some(SignUps { per_hour, .. }) = petstore.counted(&origin)
        && new.len() > per_hour as usize
    {
        let detail =
            format!("must have at most {per_hour} items: so many users an hour can be made from an address")
                .into();
        return Err(Problem::broken(&UNPROCESSABLE, vec![Invalid { pointer: "#".into(), detail }]));
    }
    let user = petstore.create_users(new, maker, &origin).await?;
    Ok(format.reply(&user))
}

impl Petstore {
    /// The address under which created users are counted; none in a demo. A session does not change that, since each user could
    /// create another.
    fn counted(&self, origin: &Origin) -> Option<SignUps> {
        match self.sign_up {
            SignUp::Demo => None,
            SignUp::Open | SignUp::Closed => {
                Some(SignUps { address: origin.address(), per_hour: self.sign_ups_per_hour })
            }
        }
    }

    /// Creates users, all or none, and returns the last one.
    async fn create_users(&self, new: Vec<NewUser>, maker: Creator, origin: &Origin) -> Result<User> {
        let rows = new.into_iter().map(|user| {
            let (name, assigned) = (checked(&user.username)?, user.id.is_none());
            let (account, id) = (self.random.uuid(self.clock.now()), user.id.unwrap_or_default());
            Ok(NewRow { user: user.complete(account, id), assigned, name, hash: None })
        });
        let mut rows = rows.collect::<Result<Vec<_>>>()?;
        let passwords = rows.iter_mut().map(|row| row.user.password.take()).collect();
        let hashes = self.accounts.hash_all(passwords, self.counted(origin)).await.map_err(|error| {
            if let ChangeError::Wait(_) = error {
                origin.log(Event::AccountCreation, Outcome::Throttled, None, None);
            }
            failed(error)
        })?;
        for (row, hash) in rows.iter_mut().zip(hashes) {
            row.hash = hash;
        }
        let now = self.clock.now();
        let accounts: Vec<_> = rows.iter().map(|row| row.user.account_id).collect();
        let last = super::insert(&self.db, &self.user_ids, rows, maker, now).await?;
        for account in accounts {
            origin.log(Event::AccountCreation, Outcome::Ok, Some(account), None);
        }
        last.ok_or_else(|| Problem::internal("no user was to be made"))
    }
}

/// A username, which its rule has checked.
fn checked(username: &str) -> Result<Name> {
    Name::new(username).map_err(Problem::internal)
}

impl From<UserError> for Problem {
    fn from(refused: UserError) -> Self {
        match refused {
            UserError::NameTaken(name) => Problem::new(
                &CONFLICT,
                format!("There is a user named {name} already; choose another username."),
            ),
            UserError::IdTaken(id) => {
                let detail =
                    format!("There is a user with the id {id} already; choose another, or leave it out.");
                Problem::new(&CONFLICT, detail)
            }
            UserError::AssignedTaken => Problem::internal("an id of our own choice was taken"),
            UserError::Unknown => unknown(),
            UserError::SessionEnded => logged_in::has_ended(),
            UserError::Db(error) => error.into(),
        }
    }
}

fn failed(error: ChangeError) -> Problem {
    match error {
        ChangeError::Busy => {
            Problem::new(&UNAVAILABLE, "Too many passwords are being made just now.").retry_after(1)
        }
        ChangeError::Wait(seconds) => Problem::new(
            &TOO_MANY_REQUESTS,
            format!("Too many users were made from this address. Try again in {seconds} seconds."),
        )
        .retry_after(seconds),
        ChangeError::Db(error) => error.into(),
        other => Problem::internal(other),
    }
}

/// Get a user
#[utoipa::path(
    get, path = "/user/{username}", operation_id = "getUserByName", tag = "user",
    params(("username" = inline(Username), Path, description = "The user's name.", example = "user1")),
    responses(
        (status = 200, description = "The user.", body = User),
        (status = 400, description = "Invalid username supplied"),
        (status = 404, description = "There is no such user."),
    ),
    security(()),
)]
pub(crate) async fn get(
    format: ResponseFormat,
    State(petstore): State<Petstore>,
    Path(name): Path<Username>,
) -> Result<Response> {
    let user = petstore.db.read(move |tx| store::by_name(tx, &name.0)).await?;
    Ok(format.reply(&user.ok_or_else(unknown)?))
}

/// Update a user
///
/// Only the user can change the account. Without a password in the body, the password stays. A new password ends all other
/// sessions of the user, and all grants to clients.
#[utoipa::path(
    put, path = "/user/{username}", operation_id = "updateUser", tag = "user",
    params(("username" = inline(Username), Path, description = "The user's name.")),
    request_body = UserChanges,
    responses(
        (status = 200, description = "The user is as the body says."),
        (status = 400, description = "bad request"),
        (status = 403, description = "Another user is logged in."),
        (status = 404, description = "There is no such user."),
        (status = 409, description = "The username or the id is taken."),
    ),
    security(("session" = [])),
)]
pub(crate) async fn update(
    caller: LoggedIn,
    State(petstore): State<Petstore>,
    origin: Origin,
    WithBody(Path(name), Body(user)): WithBody<Path<Username>, Body<UserChanges>>,
) -> Result<StatusCode> {
    let account = petstore.account_to_change(&caller, &name).await?.ok_or_else(unknown)?;
    let LoggedIn { session, .. } = caller;
    let hash = match &user.password {
        Some(password) => petstore.accounts.hash_if_new(account, password).await.map_err(failed)?,
        None => None,
    };
    let new_password = hash.is_some();
    let name = user.username.as_deref().map(checked).transpose()?;
    let change = Change { user, name, hash, session };
    let now = petstore.clock.now();
    petstore.db.write(move |tx| store::change(tx, account, &change, now)).await?;
    if new_password {
        origin.log(Event::PasswordChange, Outcome::Ok, Some(account), None);
    }
    Ok(StatusCode::OK)
}

/// Delete a user
///
/// Only the user can delete the account.
#[utoipa::path(
    delete, path = "/user/{username}", operation_id = "deleteUser", tag = "user",
    params(("username" = inline(Username), Path, description = "The user's name.")),
    responses(
        (status = 200, description = "The user is gone."),
        (status = 400, description = "Invalid username supplied"),
        (status = 403, description = "Another user is logged in."),
        (status = 404, description = "There is no such user."),
    ),
    security(("session" = [])),
)]
pub(crate) async fn delete(
    caller: LoggedIn,
    State(petstore): State<Petstore>,
    origin: Origin,
    Path(name): Path<Username>,
) -> Result<Response> {
    let account = petstore.account_to_change(&caller, &name).await?;
    let deleted = match account {
        Some(account) => petstore.db.write(move |tx| store::delete(tx, account)).await?,
        None => false,
    };
    if deleted {
        origin.log(Event::AccountRemoval, Outcome::Ok, account, None);
    }
    petstore.habits().deleted(deleted, "The user is deleted.", unknown())
}

impl Petstore {
    /// The account of the user with this name, if the caller may change it.
    async fn account_to_change(&self, caller: &LoggedIn, Username(name): &Username) -> Result<Option<Uuid>> {
        let name = name.clone();
        let user = self.db.read(move |tx| store::by_name(tx, &name)).await?;
        let Some(account) = user.map(|user| user.account_id) else { return Ok(None) };
        // An account that was not made in the demo has an owner.
        let is_open = self.habits().anyone_changes_users
            && self.db.read(move |tx| account::is_demo(tx, account)).await?;
        if account == caller.account || is_open {
            return Ok(Some(account));
        }
        Err(Problem::new(&FORBIDDEN, "Only this user can do that, and another user is logged in."))
    }
}

/// A user's name in a path.
pub(crate) struct Username(Name);

impl web::input::Param for Username {
    const WANTED: &'static str = {
        assert!(LONGEST_NAME == 100, "the message below states it");
        "must be a username: 1 to 100 characters, no control characters, no colon"
    };

    fn parse(text: &str) -> Option<Self> {
        Name::new(text).ok().map(Username)
    }
}

impl PartialSchema for Username {
    fn schema() -> RefOr<Schema> {
        username_schema().into()
    }
}

impl ToSchema for Username {}

fn unknown() -> Problem {
    Problem::new(&NOT_FOUND, "There is no user with this name.")
}
