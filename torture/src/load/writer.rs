//! Clients that write until the service breaks, or until they are stopped, and note what each answer promises.

use std::{sync::Arc, time::Duration};

use rand::{RngExt, rngs::StdRng};
use serde_json::Value;
use testkit::{Answer, Call, Client};
use tokio::{
    sync::{mpsc::UnboundedSender, watch},
    time::{interval, timeout},
};

use super::{
    PATIENCE, conflict,
    kind::Kind,
    promise::{Place, Promise, State},
};
use crate::installation::Service;

/// A request with an Idempotency-Key, and its answer, if there was one.
pub(crate) struct Keyed {
    pub(crate) place: Arc<Place>,
    pub(crate) path: String,
    pub(crate) body: Value,
    pub(crate) key: String,
    pub(crate) answer: Option<Value>,
}

impl Keyed {
    pub(crate) fn call(&self, client: &Client) -> Call {
        let authorization = &self.place.authorizations[Service::Train as usize];
        let call = client.post(&format!("{}{}", self.place.prefix, self.path));
        call.header("authorization", authorization).header("idempotency-key", &self.key).json(&self.body)
    }
}

/// What a client leaves behind.
#[derive(Default)]
pub(crate) struct Notes {
    pub(crate) promises: Vec<Promise>,
    pub(crate) violations: Vec<String>,
    /// The last requests with a key, to be sent again.
    pub(crate) keyed: Vec<Keyed>,
}

pub(crate) struct Writer {
    /// Its number in the round.
    pub(crate) client: usize,
    pub(crate) kind: Kind,
    /// The service in each process. A request goes to any of them.
    pub(crate) processes: Vec<Client>,
    pub(crate) place: Arc<Place>,
    /// The same for no other client.
    pub(crate) name: String,
    pub(crate) trips: Arc<Vec<String>>,
    pub(crate) random: StdRng,
    pub(crate) acknowledged: UnboundedSender<usize>,
    /// Until when it goes on after the service broke; if there is none, it ends then.
    pub(crate) stopped: Option<watch::Receiver<bool>>,
    pub(crate) notes: Notes,
}

/// How long a client waits for an answer if it goes on without one: a process that was stopped answers later.
const SHORT_PATIENCE: Duration = Duration::from_secs(2);
const IN_USE: &str = "idempotency-key-in-use";
/// How often a client that goes on sends a request with a key.
const ATTEMPTS: usize = 10;

/// The service broke: there was no answer, or one that does not say whether the write was done.
pub(super) struct Broken;

impl Writer {
    pub(crate) async fn run(mut self) -> Notes {
        let mut pause = interval(Duration::from_millis(20));
        for number in 0.. {
            let done = match self.kind {
                Kind::Pets => self.pet(number).await,
                Kind::Orders => self.order().await,
                Kind::Users => self.users(number).await,
                Kind::Events => self.event(number).await,
                Kind::Tickets => self.ticket().await,
                Kind::Bookings => self.booking(number).await,
            };
            match (done, self.is_stopped()) {
                (Ok(()), Some(true)) | (Err(Broken), None | Some(true)) => break,
                (Err(Broken), Some(false)) => _ = pause.tick().await,
                (Ok(()), _) => {}
            }
        }
        self.notes
    }

    /// Whether a client that goes on must stop.
    fn is_stopped(&self) -> Option<bool> {
        self.stopped.as_ref().map(|stopped| *stopped.borrow())
    }

    /// One of the processes.
    fn http(&mut self) -> &Client {
        &self.processes[self.random.random_range(0..self.processes.len())]
    }

    /// Sends a request with a key, and gives the body of the answer or the kind of the conflict. A client that goes on sends it again if
    /// there is no answer, to any process.
    pub(super) async fn keyed(
        &mut self,
        path: &str,
        body: Value,
        key: String,
        status: u16,
    ) -> Result<Result<Value, String>, Broken> {
        let keyed = Keyed { place: self.place.clone(), path: path.to_owned(), body, key, answer: None };
        let mut pause = interval(Duration::from_millis(50));
        let mut attempts = 1..;
        let answer = loop {
            let call = keyed.call(self.http());
            let answer = self.answer(call).await;
            let conflict = answer
                .as_ref()
                .ok()
                .filter(|answer| answer.status == 409)
                .map(|answer| conflict(&answer.json()));
            let is_over = self.is_stopped() != Some(false) || attempts.next() == Some(ATTEMPTS);
            match (answer, conflict.as_deref()) {
                // The first request with the key is not finished: it may belong to a process that was killed.
                (Ok(_), Some(IN_USE)) | (Err(Broken), _) if is_over => {
                    self.note(keyed);
                    return Err(Broken);
                }
                (Ok(_), Some(IN_USE)) | (Err(Broken), _) => _ = pause.tick().await,
                (Ok(_), Some(conflict)) => return Ok(Err(conflict.to_owned())),
                (Ok(answer), None) => break self.expect(answer, status)?.json(),
            }
        };
        self.note(Keyed { answer: Some(answer.clone()), ..keyed });
        Ok(Ok(answer))
    }

    /// Notes a request to be repeated later: all without an answer, and the last two others.
    fn note(&mut self, keyed: Keyed) {
        self.notes.keyed.push(keyed);
        let is_answered = |keyed: &Keyed| keyed.answer.is_some();
        if self.notes.keyed.iter().filter(|keyed| is_answered(keyed)).count() > 2
            && let Some(first) = self.notes.keyed.iter().position(is_answered)
        {
            self.notes.keyed.remove(first);
        }
    }

    /// Changes the last resource: before the answer it may be in the old or in the new state.
    pub(super) async fn change(
        &mut self,
        call: Call,
        status: u16,
        state: State,
        request: String,
    ) -> Result<(), Broken> {
        self.allow(state, request);
        self.send(call, status).await?;
        self.done();
        Ok(())
    }

    /// A new resource in this state.
    pub(super) fn promise(&mut self, path: &str, state: State, request: String) {
        self.notes.promises.push(Promise {
            service: self.kind.service(),
            place: self.place.clone(),
            paths: vec![path.to_owned()],
            allowed: vec![vec![state]],
            request,
        });
        let _ = self.acknowledged.send(self.client);
    }

    /// The last resource may be in this state as well.
    pub(super) fn allow(&mut self, state: State, request: String) {
        if let Some(promise) = self.notes.promises.last_mut() {
            promise.allowed.push(vec![state]);
            promise.request = request;
        }
    }

    /// The last resource is in the state that was allowed last.
    pub(super) fn done(&mut self) {
        if let Some(promise) = self.notes.promises.last_mut() {
            promise.allowed.drain(..promise.allowed.len() - 1);
        }
        let _ = self.acknowledged.send(self.client);
    }

    /// The last resource is in the state that it had before.
    pub(super) fn not_done(&mut self) {
        if let Some(promise) = self.notes.promises.last_mut() {
            promise.allowed.truncate(1);
        }
    }

    pub(super) async fn send(&mut self, call: Call, status: u16) -> Result<Answer, Broken> {
        let answer = self.answer(call).await?;
        self.expect(answer, status)
    }

    async fn answer(&mut self, call: Call) -> Result<Answer, Broken> {
        let patience = if self.stopped.is_some() { SHORT_PATIENCE } else { PATIENCE };
        let answer = timeout(patience, call.try_send()).await.map_err(|_| Broken)?.map_err(|_| Broken)?;
        if answer.status >= 500 { Err(Broken) } else { Ok(answer) }
    }

    fn expect(&mut self, answer: Answer, status: u16) -> Result<Answer, Broken> {
        if answer.status == status {
            return Ok(answer);
        }
        let (kind, name, prefix) = (self.kind, &self.name, &self.place.prefix);
        let violation = format!(
            "{kind:?} of {name} in {prefix:?}: {} instead of {status}: {}",
            answer.status,
            answer.text()
        );
        self.notes.violations.push(violation);
        Err(Broken)
    }

    fn at(&self, path: &str) -> String {
        format!("{}{path}", self.place.prefix)
    }

    /// A request without credentials.
    pub(super) fn anonymous(&mut self, path: &str) -> Call {
        let path = self.at(path);
        self.http().post(&path)
    }

    pub(super) fn post(&mut self, path: &str) -> Call {
        let call = self.anonymous(path);
        self.authorized(call)
    }

    pub(super) fn patch(&mut self, path: &str) -> Call {
        let path = self.at(path);
        let call = self.http().patch(&path);
        self.authorized(call)
    }

    pub(super) fn delete(&mut self, path: &str) -> Call {
        let path = self.at(path);
        let call = self.http().delete(&path);
        self.authorized(call)
    }

    fn authorized(&self, call: Call) -> Call {
        call.header("authorization", &self.place.authorizations[self.kind.service() as usize])
    }
}
