//! Users: the type and its rules.

pub(crate) mod api;
pub(crate) mod logged_in;
pub(crate) mod session;
pub(crate) mod store;

use db::Db;
use identity::account::{self, LONGEST_NAME, Name};
use jiff::Timestamp;
use model::Resource;
use secrecy::SecretString;
use serde_json::json;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{ObjectBuilder, RefOr, extensions::Extensions, schema::Schema},
};
use uuid::Uuid;
use web::{
    input::{
        Field, Fields, Input,
        rules::{Components, Describe, Rule, distinct, id, list, nested, text, text_object},
    },
    openapi::text_pattern,
    problem::{Kind, UNPROCESSABLE},
};

use crate::ids::Ids;
use store::{Creator, NewRow, UserError};

const LONGEST: usize = 200;
/// The maximum length of a password, and of a name in a log-in.
const LONGEST_CREDENTIAL: usize = 1000;
/// How many users a list may have: hashing each password takes as long as a log-in.
const MOST: usize = 50;

/// A user of the store. No answer has the password.
#[derive(Debug, Clone, Default, Resource)]
#[resource(case = "camelCase", xml = "user", form, broken = UNPROCESSABLE, table)]
#[resource(new = NewUser, new_name = "UserInput", new_doc = "A user as a client sends one.")]
#[resource(changes = UserChanges, changes_doc = "The changes that a user asks for.")]
pub(crate) struct User {
    /// The account that logs in as this user, which has the name and the password.
    #[field(stored)]
    pub(crate) account_id: Uuid,
    #[field(assigned, changeable, changes_doc = "The user's id, if it is to be another.", example = 10)]
    pub(crate) id: i64,
    #[field(rule = new_username(), changes_doc = "The user's name, if it is to be another.", computed)]
    #[field(example = "theUser")]
    pub(crate) username: String,
    #[field(write_only, rule = password(), input_doc = "A user without a password cannot log in.")]
    #[field(changes_doc = "The old one stays if this is absent.", example = "12345")]
    pub(crate) password: Option<SecretString>,
    #[field(rule = text(0..=LONGEST), example = "John")]
    pub(crate) first_name: Option<String>,
    #[field(rule = text(0..=LONGEST), example = "James")]
    pub(crate) last_name: Option<String>,
    #[field(rule = text(0..=LONGEST), example = "john@email.com")]
    pub(crate) email: Option<String>,
    #[field(rule = text(0..=LONGEST), example = "12345")]
    pub(crate) phone: Option<String>,
    #[field(example = 1)]
    pub(crate) user_status: Option<i32>,
}

/// A list of new users.
pub(crate) struct NewUsers(pub(crate) Vec<NewUser>);

/// Names and ids within the list are compared here, since the database sees one user at a time.
fn new_users() -> impl Rule<Value = Vec<NewUser>> {
    let username = "is the username of another user in the list";
    let user = distinct(nested::<NewUser>(), "username", new_username(), username);
    list(1..=MOST, distinct(user, "id", id(), "is the id of another user in the list"))
}

impl PartialSchema for NewUsers {
    fn schema() -> RefOr<Schema> {
        web::openapi::accepted_formats::<Self>(new_users().schema())
    }
}

impl ToSchema for NewUsers {
    fn schemas(components: &mut Components) {
        new_users().components(components);
    }
}

impl Input for NewUsers {
    const BROKEN: &'static Kind = &UNPROCESSABLE;

    fn read(_: &mut Fields<'_>) -> Option<Self> {
        None
    }

    fn read_value(field: &mut Field<'_>) -> Option<Self> {
        new_users().read(field).map(NewUsers)
    }
}

/// The pattern of a username in the schema. Invisible characters above U+FFFF are also rejected, but not all tools support them
/// in patterns.
fn username_schema() -> ObjectBuilder {
    const UNFIT: &str = r":\t\n\r\u00AD\u034F\u061C\u115F\u1160\u17B4\u17B5\u180B-\u180F\u200B-\u200F\u2028-\u202E\u2060-\u206F\u3164\uFEFF\uFFA0\uFFF0-\uFFFB";
    text_object().max_length(Some(LONGEST_NAME)).pattern(Some(text_pattern(UNFIT, false)))
}

/// Names that no path can reach: other operations have these paths, or clients normalize them away.
pub(crate) const UNREACHABLE: &[&str] = &["login", "logout", "createWithList", ".", ".."];

/// The rule for a new username.
fn new_username() -> impl Rule<Value = String> {
    let mut reachable = Extensions::default();
    reachable.insert("not".into(), json!({"enum": UNREACHABLE}));
    let described = username_schema().extensions(Some(reachable));
    text(1..=LONGEST_NAME).described_as(described).then(|field, name| match Name::new(&name) {
        Ok(name) if UNREACHABLE.contains(&name.as_str()) => {
            field.fail("cannot be used: no address could lead to a user of this name")
        }
        Ok(name) => Some(name.to_string()),
        Err(unfit) => field.fail(format!("cannot be used: {unfit}")),
    })
}

/// Any password except an empty one: the public examples have short ones.
fn password() -> impl Rule<Value = SecretString> {
    text(1..=LONGEST_CREDENTIAL).format("password").then(|field, password| {
        let password = SecretString::from(password);
        match account::check_any_password(&password) {
            Ok(()) => Some(password),
            Err(unfit) => field.fail(format!("cannot be used: {unfit}")),
        }
    })
}

/// Adds users, all or none, and returns the last one. Assigned ids are replaced until all are free.
pub(crate) async fn insert(
    db: &Db,
    ids: &Ids,
    rows: Vec<NewRow>,
    maker: Creator,
    now: Timestamp,
) -> Result<Option<User>, UserError> {
    let unnumbered = rows.iter().filter(|row| row.assigned).count();
    let insert = |ids: Vec<i64>| {
        // Another user of the same list may have chosen one of them.
        let chosen = rows.iter().any(|row| !row.assigned && ids.contains(&row.user.id));
        let mut rows = rows.clone();
        for (row, id) in rows.iter_mut().filter(|row| row.assigned).zip(ids) {
            row.user.id = id;
        }
        async move {
            if chosen {
                return Ok(None);
            }
            let last = rows.last().map(|row| row.user.clone());
            match db.write(move |tx| store::insert_all(tx, &rows, maker, now)).await {
                Ok(()) => Ok(Some(last)),
                Err(UserError::AssignedTaken) => Ok(None),
                Err(refused) => Err(refused),
            }
        }
    };
    ids.assign(unnumbered, insert).await
}
