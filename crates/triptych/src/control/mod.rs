//! `triptych sandbox …`: controls the sandboxes of a running server over HTTP.
//!
//! `arguments` has the command line, `server` calls the server, `show` prints its answers.

pub(crate) mod arguments;
mod delay;
mod events;
mod fault;
pub(crate) mod journal;
pub(crate) mod server;
mod show;
mod sign_in;

use arguments::{ClockArguments, SandboxAction, SandboxCommand, SnapshotTarget, Target};
use jiff::Timestamp;
use sandbox::Name;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use server::{About, Call, Server, query, text};
pub(crate) use show::{Created, Info, SandboxService};

use crate::{Failure, print, settings::Settings};

/// The number of sandboxes that are asked for at once.
const PAGE: usize = 200;

pub(crate) fn run(command: &SandboxCommand, settings: &Settings) -> Result<(), Failure> {
    let server = Server::new(&command.server, settings)?;
    block_on(control(&command.action, &server))
}

pub(crate) fn block_on(work: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(work)
}

async fn control(action: &SandboxAction, server: &Server) -> Result<(), Failure> {
    match action {
        SandboxAction::Create { name, class, json, env } => {
            let answer = create(server, name.as_ref(), class.as_ref()).await?;
            match () {
                () if *json => print(&format!("{answer}\n")),
                () if *env => print(&Created::read(&answer)?.variables()),
                () => print(&Created::read(&answer)?.page()),
            }
        }
        SandboxAction::List { class, json: true } => {
            let sandboxes = list(server, class.as_ref()).await?;
            print(&format!("{}\n", json!({"sandboxes": sandboxes})))
        }
        SandboxAction::List { class, json: false } => {
            print(&show::list(&infos(list(server, class.as_ref()).await?)?))
        }
        SandboxAction::Show { name, json } => {
            let answer = text(server.call(About::Sandbox(name), Call::get("")).await?).await?;
            match json {
                true => print(&format!("{answer}\n")),
                false => print(&serde_json::from_str::<Info>(&answer)?.page()),
            }
        }
        SandboxAction::Reset { target } => {
            server.call(target.into(), Call::post("/reset")).await?;
            print(&format!("{target}: reset\n"))
        }
        SandboxAction::Snapshot(SnapshotTarget { target, snapshot }) => {
            let call = Call::post("/snapshots").body(json!({"name": snapshot.as_str()}));
            server.call(target.into(), call).await?;
            print(&format!("{target}: saved as {snapshot}\n"))
        }
        SandboxAction::Snapshots { target, delete: None } => {
            let found: Snapshots = server.json(target.into(), Call::get("/snapshots")).await?;
            print(&found.snapshots.iter().map(|one| format!("{}\n", one.name)).collect::<String>())
        }
        SandboxAction::Snapshots { target, delete: Some(snapshot) } => {
            server.call(target.into(), Call::delete(&format!("/snapshots/{snapshot}"))).await?;
            print(&format!("{target}: {snapshot} deleted\n"))
        }
        SandboxAction::Restore(SnapshotTarget { target, snapshot }) => {
            server.call(target.into(), Call::post(&format!("/snapshots/{snapshot}/restore"))).await?;
            print(&format!("{target}: restored from {snapshot}\n"))
        }
        SandboxAction::Delete { name } => {
            server.call(About::Sandbox(name), Call::delete("")).await?;
            print(&format!("{name}: deleted\n"))
        }
        SandboxAction::Clock(arguments) => clock(server, arguments).await,
        SandboxAction::SignIn(arguments) => sign_in::run(server, arguments).await,
        SandboxAction::Compat { target, mode } => {
            let call = match mode {
                Some(mode) => Call::put("/compat").body(json!({"petstore": mode})),
                None => Call::get("/compat"),
            };
            let compat: Value = server.json(target.into(), call).await?;
            print(&format!("petstore: {}\n", compat["petstore"].as_str().unwrap_or_default()))
        }
        SandboxAction::Fault { action } => fault::run(server, action).await,
        SandboxAction::Journal(arguments) => journal::run(server, arguments).await,
        SandboxAction::Token => print(&format!("{}\n", server.operator_token()?)),
    }
}

/// Creates a sandbox, and gives the answer.
pub(crate) async fn create(
    server: &Server,
    name: Option<&Name>,
    class: Option<&Name>,
) -> Result<String, Failure> {
    let members = [("name", name), ("class", class)];
    let given = members.into_iter().filter_map(|(member, name)| Some((member.to_owned(), name?)));
    let body: Map<_, _> = given.map(|(member, name)| (member, json!(name.as_str()))).collect();
    let call = Call::post("").body(body.into()).token_optional();
    text(server.call(About::All, call).await?).await
}

/// All sandboxes, page by page, as the server describes them.
pub(crate) async fn list(server: &Server, class: Option<&Name>) -> Result<Vec<Value>, Failure> {
    #[derive(Deserialize)]
    struct Page {
        sandboxes: Vec<Value>,
    }
    let mut all: Vec<Value> = Vec::new();
    loop {
        let after = all.last().and_then(|last| last["name"].as_str());
        let class = class.map(Name::as_str);
        let limit = PAGE.to_string();
        let query = query(&[("class", class), ("after", after), ("limit", Some(&limit))]);
        let page: Page = server.json(About::All, Call::get(&query)).await?;
        let is_last = page.sandboxes.len() < PAGE;
        all.extend(page.sandboxes);
        if is_last {
            return Ok(all);
        }
    }
}

pub(crate) fn infos(sandboxes: Vec<Value>) -> Result<Vec<Info>, Failure> {
    Ok(sandboxes.into_iter().map(serde_json::from_value).collect::<Result<_, _>>()?)
}

#[derive(Deserialize)]
struct Snapshots {
    snapshots: Vec<Snapshot>,
}

#[derive(Deserialize)]
struct Snapshot {
    name: String,
}

#[derive(Deserialize)]
struct Clock {
    time: Timestamp,
    frozen: bool,
}

async fn clock(server: &Server, arguments: &ClockArguments) -> Result<(), Failure> {
    let ClockArguments { target, advance, set, freeze, resume } = arguments;
    let frozen = match (freeze, resume) {
        (true, _) => Some(true),
        (false, true) => Some(false),
        (false, false) => None,
    };
    let members = [
        ("time", set.as_ref().map(|time| json!(time))),
        ("advance", advance.as_ref().map(|by| json!(by))),
        ("frozen", frozen.map(|frozen| json!(frozen))),
    ];
    let change: Map<_, _> =
        members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
    let call = match change.is_empty() {
        true => Call::get("/clock"),
        false => Call::patch("/clock").body(change.into()),
    };
    let Clock { time, frozen } = server.json(target.into(), call).await?;
    print(&format!("{time:.0}{}\n", if frozen { ", frozen" } else { "" }))
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.name {
            Some(name) => name.fmt(f),
            None => f.write_str("root"),
        }
    }
}
