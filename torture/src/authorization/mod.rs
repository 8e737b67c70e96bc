//! Every operation, called by others than the owner with the ids of what the owner has.
//!
//! A caller without valid credentials gets 401. Another user gets the same answer for something of the owner as for something that
//! does not exist. No answer has an id or a secret of the owner, and at the end the owner sees what was there before.

mod operation;
mod people;

use std::collections::BTreeMap;

use operation::{Operation, Scheme, Subject};
use people::{Belongings, Credentials, Place};
use testkit::{Answer, Engine};
use tokio::runtime::Runtime;

use crate::{
    Add, Torture,
    installation::{Installation, Service, basic},
    report::Line,
};

/// Headers that are never the same.
const CHANGING: [&str; 3] = ["date", "x-request-id", "ratelimit"];

pub(crate) fn run(torture: &Torture, add: Add<'_>) {
    let runtime = Runtime::new().expect("a runtime");
    let engines = torture.size(&[Engine::Sqlite, Engine::Postgres][..], &[Engine::Sqlite]);
    engines.iter().for_each(|engine| add(runtime.block_on(on(torture, *engine))));
}

async fn on(torture: &Torture, engine: Engine) -> Line {
    let mut random = torture.random("authorization");
    let installation = Installation::new(torture, engine, "authorization", &mut random);
    let (program, _) = installation.start();
    for name in ["owner", "other"] {
        installation.add_user(Service::Museum, name, "12345678");
    }
    let account = |name: &str| Some(basic(name, "12345678"));
    let (root, sandbox) = (Place::root(&installation), Place::sandbox(&installation, "torture").await);
    let mut found = Found::default();
    let [mut in_root, mut in_sandbox] = [
        Scene::create(&root, "owner", account("owner"), account("other"), account("unknown")).await,
        // A sandbox has no second account of the museum.
        Scene::create(&sandbox, "owner", Some(basic("demo", "demo")), None, account("owner")).await,
    ];
    std::mem::swap(&mut in_root.elsewhere, &mut in_sandbox.elsewhere);
    for scene in [&in_root, &in_sandbox] {
        scene.call_everything(&mut found).await;
    }
    assert!(program.terminate().success(), "the program stops after SIGTERM");
    let Found { calls, operations, violations } = found;
    Line {
        fault: format!(
            "another user, a stranger, expired and foreign tokens × every operation × every id of another, in the root and \
             in a sandbox, on {engine:?}"
        ),
        must: "0 reads, 0 changes, 0 differences that reveal existence".to_owned(),
        measured: format!("{operations} operations, {calls} calls"),
        violations,
    }
}

#[derive(Default)]
struct Found {
    calls: usize,
    operations: usize,
    violations: Vec<String>,
}

/// A place with an owner and others.
struct Scene<'a> {
    place: &'a Place,
    owner: Credentials,
    other: Credentials,
    expired: Credentials,
    /// The owner's valid credentials of the other place.
    elsewhere: Credentials,
    /// An account that the museum of this place does not have.
    unknown: Option<String>,
    belongings: Belongings,
}

/// Who calls.
struct Caller<'a> {
    name: &'static str,
    credentials: Option<&'a Credentials>,
    is_valid: bool,
}

impl<'a> Scene<'a> {
    async fn create(
        place: &'a Place,
        name: &str,
        owner: Option<String>,
        other: Option<String>,
        unknown: Option<String>,
    ) -> Self {
        let mut expired = Credentials::create(place, "expired", unknown.clone()).await;
        expired.api_key = "no-such-key".to_owned();
        place.expire().await;
        let owner = Credentials::create(place, name, owner).await;
        let belongings = Belongings::create(place, &owner, name).await;
        let other = Credentials::create(place, "other", other).await;
        Scene { place, elsewhere: owner.clone(), owner, other, expired, unknown, belongings }
    }

    async fn call_everything(&self, found: &mut Found) {
        let before = self.belongings.seen_by_owner(self.place, &self.owner).await;
        let foreign = self.owner.of_other_services();
        let mut elsewhere = self.elsewhere.clone();
        elsewhere.basic.clone_from(&self.unknown);
        elsewhere.api_key.clone_from(&elsewhere.petstore);
        let callers = [
            Caller { name: "a stranger", credentials: None, is_valid: false },
            Caller { name: "an expired token", credentials: Some(&self.expired), is_valid: false },
            Caller { name: "a token of another service", credentials: Some(&foreign), is_valid: false },
            Caller { name: "a token of another place", credentials: Some(&elsewhere), is_valid: false },
            // The last: it may change what all share.
            Caller { name: "another user", credentials: Some(&self.other), is_valid: true },
        ];
        for service in Service::ALL {
            let document =
                self.place.client(service).get(&self.place.at("/openapi.json")).send().await.json();
            let operations = match Operation::all(service, &document) {
                Ok(operations) => operations,
                Err(violation) => {
                    found.violations.push(violation);
                    continue;
                }
            };
            found.operations += operations.len();
            for caller in &callers {
                for operation in &operations {
                    self.call_all_ids(operation, caller, found).await;
                }
            }
        }
        let after = self.belongings.seen_by_owner(self.place, &self.owner).await;
        for (before, after) in before.iter().zip(&after).filter(|(before, after)| before != after) {
            found.violations.push(format!("changed in {:?}: {before} is now {after}", self.place.prefix));
        }
    }

    async fn call_all_ids(&self, operation: &Operation, caller: &Caller<'_>, found: &mut Found) {
        let methods: &[&str] =
            if operation.method == "GET" { &["GET", "HEAD"] } else { &[&operation.method] };
        for method in methods {
            let Subject::Owned { parameter, is_known } = operation.subject else {
                if let Some(answer) = self.call(operation, method, &operation.path, caller, found).await {
                    self.judge(operation, method, &operation.path, caller, &answer, found);
                }
                continue;
            };
            for (_, id) in self.belongings.ids.iter().filter(|(owned, _)| *owned == parameter) {
                let path = |id: &str| operation.path.replace(&format!("{{{parameter}}}"), id);
                let missing = other_id(id);
                let answers = (
                    self.call(operation, method, &path(id), caller, found).await,
                    self.call(operation, method, &path(&missing), caller, found).await,
                );
                let (Some(answer), Some(absent)) = answers else { continue };
                self.judge(operation, method, &path(id), caller, &answer, found);
                let is_throttled = answer.status == 429 || absent.status == 429;
                if operation.scheme.is_none() || is_throttled || (is_known && caller.is_valid) {
                    continue;
                }
                let (shown, hidden) = (normal(&answer, id), normal(&absent, &missing));
                if shown != hidden {
                    let path = path(id);
                    found.violations.push(format!(
                        "{method} {} by {} differs from that of a missing id: {shown} / {hidden}",
                        self.place.at(&path),
                        caller.name
                    ));
                }
            }
        }
    }

    /// Sends a call, unless the caller has nothing like the credentials that it takes.
    async fn call(
        &self,
        operation: &Operation,
        method: &str,
        path: &str,
        caller: &Caller<'_>,
        found: &mut Found,
    ) -> Option<Answer> {
        let method = method.parse().expect("a method");
        let mut call = self.place.client(operation.service).call(method, &self.place.at(path));
        if let (Some(credentials), Some(scheme)) = (caller.credentials, operation.scheme) {
            let (name, value) = credentials.header(operation.service, scheme)?;
            call = call.header(name, &value);
        }
        if let Some((media_type, body)) = &operation.body {
            call = call.body(media_type, body.clone());
        }
        found.calls += 1;
        Some(call.send().await)
    }

    /// Checks the status, and that nothing of the owner is in the answer.
    fn judge(
        &self,
        operation: &Operation,
        method: &str,
        path: &str,
        caller: &Caller<'_>,
        answer: &Answer,
        found: &mut Found,
    ) {
        let path = self.place.at(path);
        let status = answer.status;
        let is_allowed = match (operation.scheme, caller.is_valid, operation.subject) {
            (None, _, _) | (Some(_), true, Subject::Shared) => status < 500,
            // Wrong passwords are throttled.
            (Some(Scheme::Basic), false, _) => matches!(status, 401 | 429),
            (Some(_), false, _) => status == 401,
            (Some(_), true, Subject::Owned { is_known: true, .. }) => status == 403,
            (Some(_), true, Subject::Owned { is_known: false, .. }) => (400..500).contains(&status),
        };
        if !is_allowed {
            let violation = format!("{method} {path} by {}: {status} {}", caller.name, answer.text());
            found.violations.push(violation);
        }
        let whole = format!("{:?} {}", answer.headers, answer.text());
        for secret in &self.belongings.secrets {
            if whole.contains(secret.as_str()) && !path.contains(secret.as_str()) {
                let violation = format!("{method} {path} by {} shows {secret}: {whole}", caller.name);
                found.violations.push(violation);
            }
        }
    }
}

/// An answer without what is never the same, and with the same text for every id.
fn normal(answer: &Answer, id: &str) -> String {
    let request = answer.header("x-request-id");
    let headers: BTreeMap<_, _> = answer
        .headers
        .iter()
        .filter(|(name, _)| !CHANGING.contains(&name.as_str()))
        .map(|(name, value)| (name.as_str(), value.to_str().unwrap_or_default()))
        .collect();
    let body = answer.text().replace(request, "REQUEST");
    format!("{} {headers:?} {body}", answer.status).replace(id, "ID")
}

/// An id of the same form that names nothing.
fn other_id(id: &str) -> String {
    let last = id.chars().next_back().expect("an id");
    let other = if last == '0' { '1' } else { '0' };
    format!("{}{other}", &id[..id.len() - last.len_utf8()])
}
