//! `triptych sandbox sign-in`.

use serde_json::{Map, Value, json};

use super::{
    arguments::SignInArguments,
    server::{Call, Server},
};
use crate::{Failure, print, table::table};

/// Where the sign-in is.
const PATH: &str = "/sign-in";

pub(super) async fn run(server: &Server, arguments: &SignInArguments) -> Result<(), Failure> {
    let about = || (&arguments.target).into();
    let changes = changes(arguments);
    if !changes.is_empty() || arguments.defaults {
        let mut sign_in: Map<String, Value> = match arguments.defaults {
            true => Map::from_iter([("mode".to_owned(), json!("enforce"))]),
            false => server.json(about(), Call::get(PATH)).await?,
        };
        sign_in.extend(changes);
        server.call(about(), Call::put(PATH).body(sign_in.into())).await?;
    }
    if arguments.expire_now {
        server.call(about(), Call::post("/sign-in/expire")).await?;
    }
    if let Some(old) = &arguments.rotate_keys {
        server.call(about(), Call::post("/sign-in/rotate-keys").body(json!({"old": old}))).await?;
    }
    let sign_in: Map<String, Value> = server.json(about(), Call::get(PATH)).await?;
    let shown = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let rows: Vec<_> = sign_in.iter().map(|(name, value)| [name.replace('_', " "), shown(value)]).collect();
    print(&table(&rows))
}

/// The members that change.
fn changes(arguments: &SignInArguments) -> Map<String, Value> {
    let numbers = [
        ("access_token_seconds", arguments.access_token_seconds),
        ("refresh_token_seconds", arguments.refresh_token_seconds),
        ("session_seconds", arguments.session_seconds),
        ("calls_per_hour", arguments.calls_per_hour),
    ];
    let mode = arguments.mode.as_ref().map(|mode| ("mode", json!(mode)));
    let numbers = numbers.into_iter().filter_map(|(name, number)| Some((name, json!(number?))));
    mode.into_iter().chain(numbers).map(|(name, value)| (name.to_owned(), value)).collect()
}
