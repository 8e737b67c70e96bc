//! Users: the type and its rules.

pub(crate) mod api;
pub(crate) mod logged_in;
pub(crate) mod session;
pub(crate) mod store;
mod xml;

use std::{cell::RefCell, collections::HashSet};

use db::Db;
use identity::account::{self, Name};
use jiff::Timestamp;
use secrecy::SecretString;
use serde::Serialize;
use serde_json::json;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        Ref, RefOr,
        schema::{ArrayBuilder, ObjectBuilder, Schema, Type},
    },
};
use uuid::Uuid;
use web::{
    input::{
        Field, Fields, Input,
        rules::{self, Rule},
    },
    openapi::text_pattern,
    problem::{Kind, UNPROCESSABLE},
};

use crate::ids::Ids;
use store::{Maker, NewRow, Refused};

const LONGEST: usize = 200;
/// How many users can be made at once: each password costs as much as a log-in.
const MOST: usize = 50;

/// A user of the store, as everybody may see it: the password is in no answer.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(xml(name = "user"))]
pub(crate) struct User {
    #[schema(examples(10))]
    pub(crate) id: i64,
    #[schema(value_type = Username, inline, examples("theUser"))]
    pub(crate) username: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false, max_length = 200, examples("John"))]
    pub(crate) first_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false, max_length = 200, examples("James"))]
    pub(crate) last_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false, max_length = 200, examples("john@email.com"))]
    pub(crate) email: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false, max_length = 200, examples("12345"))]
    pub(crate) phone: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false, examples(1))]
    pub(crate) user_status: Option<i32>,
}

impl User {
    pub(crate) fn new(id: i64, username: String, profile: Profile) -> Self {
        let Profile { first_name, last_name, email, phone, user_status } = profile;
        User { id, username, first_name, last_name, email, phone, user_status }
    }
}

/// What a user can say of himself or herself.
#[derive(Debug, Clone, Default, PartialEq, ToSchema)]
#[schema(rename_all = "camelCase", xml(name = "user"))]
pub(crate) struct Profile {
    #[schema(required = false, nullable = false, max_length = 200, examples("John"))]
    pub(crate) first_name: Option<String>,
    #[schema(required = false, nullable = false, max_length = 200, examples("James"))]
    pub(crate) last_name: Option<String>,
    #[schema(required = false, nullable = false, max_length = 200, examples("john@email.com"))]
    pub(crate) email: Option<String>,
    #[schema(required = false, nullable = false, max_length = 200, examples("12345"))]
    pub(crate) phone: Option<String>,
    #[schema(required = false, nullable = false, examples(1))]
    pub(crate) user_status: Option<i32>,
}

/// A user as a client sends one.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase", as = UserInput)]
pub(crate) struct NewUser {
    /// Assigned if it is absent.
    #[schema(required = false, nullable = false)]
    pub(crate) id: Option<i64>,
    #[schema(value_type = NewUsername, inline, examples("theUser"))]
    pub(crate) username: Name,
    /// Without one, nobody can log in as this user.
    #[schema(value_type = String, required = false, min_length = 1, max_length = 1000, format = Password, write_only, examples("12345"))]
    pub(crate) password: Option<SecretString>,
    #[serde(flatten)]
    pub(crate) profile: Profile,
}

impl Input for NewUser {
    const XML_ROOT: Option<&'static str> = Some("user");
    const FORM: bool = true;
    const BROKEN: &'static Kind = &UNPROCESSABLE;

    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        NewUser::read_among(fields, &RefCell::default())
    }
}

/// The names and ids in a list so far: the database would only see one user at a time.
#[derive(Default)]
struct Seen {
    names: HashSet<Name>,
    ids: HashSet<i64>,
}

impl NewUser {
    /// Reads a user of a list, whose name and id no other user in it may have.
    fn read_among(fields: &mut Fields<'_>, seen: &RefCell<Seen>) -> Option<Self> {
        let id = fields.optional("id", rules::id());
        let username = fields.required("username", username);
        let password = fields.optional("password", password);
        let profile = Profile::read(fields);
        let mut seen = seen.borrow_mut();
        if username.as_ref().is_some_and(|name| !seen.names.insert(name.clone())) {
            fields.fail::<()>("username", "is the username of another user in the list");
        }
        if id.flatten().is_some_and(|id| !seen.ids.insert(id)) {
            fields.fail::<()>("id", "is the id of another user in the list");
        }
        Some(NewUser { id: id?, username: username?, password: password?, profile: profile? })
    }
}

impl Input for Profile {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let first_name = fields.optional("firstName", rules::text(0..=LONGEST));
        let last_name = fields.optional("lastName", rules::text(0..=LONGEST));
        let email = fields.optional("email", rules::text(0..=LONGEST));
        let phone = fields.optional("phone", rules::text(0..=LONGEST));
        let user_status = fields.optional("userStatus", rules::integer::<i32>(..));
        Some(Profile {
            first_name: first_name?,
            last_name: last_name?,
            email: email?,
            phone: phone?,
            user_status: user_status?,
        })
    }
}

/// Several users to be made at once.
pub(crate) struct NewUsers(pub(crate) Vec<NewUser>);

impl PartialSchema for NewUsers {
    fn schema() -> RefOr<Schema> {
        let users = ArrayBuilder::new().items(Ref::from_schema_name("UserInput"));
        users.min_items(Some(1)).max_items(Some(MOST)).into()
    }
}

impl ToSchema for NewUsers {}

impl Input for NewUsers {
    const BROKEN: &'static Kind = &UNPROCESSABLE;

    fn read(_: &mut Fields<'_>) -> Option<Self> {
        None
    }

    fn read_value(field: &mut Field<'_>) -> Option<Self> {
        let seen = RefCell::default();
        let user = |field: &mut Field<'_>| NewUser::read_among(&mut field.fields()?, &seen);
        rules::list(1..=MOST, user).read(field).map(NewUsers)
    }
}

/// The changes that a user asks for.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase", as = UserChanges)]
pub(crate) struct ChangedUser {
    /// The user's id, if it is to be another.
    #[schema(required = false, nullable = false)]
    pub(crate) id: Option<i64>,
    // The user's name, if it is to be another. As a documentation comment it would be an `allOf` with an object.
    #[schema(value_type = NewUsername, inline, required = false, examples("theUser"))]
    pub(crate) username: Option<Name>,
    /// The old one stays if this is absent.
    #[schema(value_type = String, required = false, min_length = 1, max_length = 1000, format = Password, write_only)]
    pub(crate) password: Option<SecretString>,
    #[serde(flatten)]
    pub(crate) profile: Profile,
}

impl Input for ChangedUser {
    const XML_ROOT: Option<&'static str> = Some("user");
    const FORM: bool = true;
    const BROKEN: &'static Kind = &UNPROCESSABLE;

    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let id = fields.optional("id", rules::id());
        let username = fields.optional("username", username);
        let password = fields.optional("password", password);
        let profile = Profile::read(fields);
        Some(ChangedUser { id: id?, username: username?, password: password?, profile: profile? })
    }
}

/// How a user can be called, as far as a schema can say it: characters beyond U+FFFF that cannot be seen are refused too, but
/// not every tool has patterns with them.
pub(crate) struct Username;

impl PartialSchema for Username {
    fn schema() -> RefOr<Schema> {
        const UNFIT: &str = r":\t\n\r\u00AD\u034F\u061C\u115F\u1160\u17B4\u17B5\u180B-\u180F\u200B-\u200F\u2028-\u202E\u2060-\u206F\u3164\uFEFF\uFFA0\uFFF0-\uFFFB";
        let name = ObjectBuilder::new().schema_type(Type::String).max_length(Some(100));
        name.pattern(Some(text_pattern(UNFIT, false))).into()
    }
}

impl ToSchema for Username {}

/// How a user can be named from now on.
pub(crate) struct NewUsername;

impl PartialSchema for NewUsername {
    fn schema() -> RefOr<Schema> {
        let mut schema = Username::schema();
        if let RefOr::T(Schema::Object(name)) = &mut schema {
            name.extensions.get_or_insert_default().insert("not".into(), json!({"enum": UNREACHABLE}));
        }
        schema
    }
}

impl ToSchema for NewUsername {}

/// Names that no path leads to: other operations are there, or clients leave them out of an address.
const UNREACHABLE: &[&str] = &["login", "logout", "createWithList", ".", ".."];

/// What an account can be called.
fn username(field: &mut Field<'_>) -> Option<Name> {
    let name = rules::text(1..=100).read(field)?;
    match Name::new(&name) {
        Ok(name) if UNREACHABLE.contains(&name.as_str()) => {
            field.fail("cannot be used: no address could lead to a user of this name")
        }
        Ok(name) => Some(name),
        Err(unfit) => field.fail(format!("cannot be used: {unfit}")),
    }
}

/// Any password but an empty one: the store's own examples have short ones.
fn password(field: &mut Field<'_>) -> Option<SecretString> {
    let password = SecretString::from(rules::text(1..=1000).read(field)?);
    match account::check_any_password(&password) {
        Ok(()) => Some(password),
        Err(unfit) => field.fail(format!("cannot be used: {unfit}")),
    }
}

/// Who a user is to the rest of the program.
pub(crate) struct Account {
    pub(crate) account: Uuid,
    pub(crate) user: User,
}

/// Adds users, all or none, and gives the last one. Those whose ids are ours to choose get others until all are free.
pub(crate) async fn insert(
    db: &Db,
    ids: &Ids,
    rows: Vec<NewRow>,
    maker: Maker,
    now: Timestamp,
) -> Result<Option<User>, Refused> {
    let unnumbered = rows.iter().filter(|row| row.assigned).count();
    let insert = |ids: Vec<i64>| {
        // Another user of the same list may have chosen one of them.
        let chosen = rows.iter().any(|row| !row.assigned && ids.contains(&row.id));
        let mut rows = rows.clone();
        for (row, id) in rows.iter_mut().filter(|row| row.assigned).zip(ids) {
            row.id = id;
        }
        async move {
            if chosen {
                return Ok(None);
            }
            let last = rows.last();
            let last = last.map(|row| User::new(row.id, row.username.to_string(), row.profile.clone()));
            match db.write(move |tx| store::insert_all(tx, &rows, maker, now)).await {
                Ok(()) => Ok(Some(last)),
                Err(Refused::AssignedTaken) => Ok(None),
                Err(refused) => Err(refused),
            }
        }
    };
    ids.assign(unnumbered, insert).await
}
