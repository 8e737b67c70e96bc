//! Clients that write until the service breaks, and note what each answer promises.

use std::sync::Arc;

use rand::{RngExt, rngs::StdRng};
use serde_json::{Value, json};
use testkit::{Answer, Call, Client};
use tokio::sync::mpsc::UnboundedSender;

use super::promise::{Place, Promise, State};
use crate::installation::Service;

/// What a client writes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    Pets,
    Orders,
    Users,
    Events,
    Tickets,
    Bookings,
}

impl Kind {
    /// The clients of a place.
    pub(crate) const CLIENTS: [Kind; 14] = [
        Kind::Pets,
        Kind::Pets,
        Kind::Pets,
        Kind::Orders,
        Kind::Orders,
        Kind::Users,
        Kind::Events,
        Kind::Events,
        Kind::Tickets,
        Kind::Tickets,
        Kind::Bookings,
        Kind::Bookings,
        Kind::Bookings,
        Kind::Bookings,
    ];

    pub(crate) fn service(self) -> Service {
        match self {
            Kind::Pets | Kind::Orders | Kind::Users => Service::Petstore,
            Kind::Events | Kind::Tickets => Service::Museum,
            Kind::Bookings => Service::Train,
        }
    }
}

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
    pub(crate) kind: Kind,
    pub(crate) http: Client,
    pub(crate) place: Arc<Place>,
    /// The same for no other client.
    pub(crate) name: String,
    pub(crate) trips: Arc<Vec<String>>,
    pub(crate) random: StdRng,
    pub(crate) acknowledged: UnboundedSender<()>,
    pub(crate) notes: Notes,
}

/// The service broke: there was no answer, or one that does not say whether the write was done.
struct Broken;

impl Writer {
    /// Writes until the service breaks.
    pub(crate) async fn run(mut self) -> Notes {
        for number in 0.. {
            let done = match self.kind {
                Kind::Pets => self.pet(number).await,
                Kind::Orders => self.order().await,
                Kind::Users => self.users(number).await,
                Kind::Events => self.event(number).await,
                Kind::Tickets => self.ticket().await,
                Kind::Bookings => self.booking(number).await,
            };
            if done.is_err() {
                break;
            }
        }
        self.notes
    }

    async fn pet(&mut self, number: usize) -> Result<(), Broken> {
        let body = json!({
            "name": format!("{} {number}", self.name), "photoUrls": [], "status": "available",
            "tags": [{"id": 1, "name": format!("tag{}", number % 10)}],
        });
        let call = self.post("/v3/pet").json(&body);
        let answer = self.send(call, 200).await?;
        let pet = answer.json();
        let path = format!("/v3/pet/{}", pet["id"]);
        self.promise(&path, Some(pet.clone()), format!("POST /v3/pet {body}"));
        if self.random.random_bool(0.5) {
            let mut sold = pet;
            sold["status"] = "sold".into();
            let path = format!("{path}?status=sold");
            let call = self.post(&path);
            self.change(call, 200, Some(sold), format!("POST {path}")).await?;
        }
        if self.random.random_bool(0.2) {
            let call = self.authorized(self.http.delete(&self.at(&path)));
            self.change(call, 200, None, format!("DELETE {path}")).await?;
        }
        Ok(())
    }

    async fn order(&mut self) -> Result<(), Broken> {
        let body = json!({"petId": 1, "quantity": self.random.random_range(1..100)});
        let call = self.http.post(&self.at("/v3/store/order")).json(&body);
        let order = self.send(call, 200).await?.json();
        self.promise(
            &format!("/v3/store/order/{}", order["id"]),
            Some(order),
            format!("POST /v3/store/order {body}"),
        );
        Ok(())
    }

    /// Two users in one request: both are stored, or none.
    async fn users(&mut self, number: usize) -> Result<(), Broken> {
        let names = ["first", "second"].map(|which| format!("{}-{number}-{which}", self.name));
        let users =
            names.each_ref().map(|name| json!({"username": name, "firstName": "Ada", "password": "12345"}));
        let stored = names.each_ref().map(|name| Some(json!({"username": name, "firstName": "Ada"})));
        let call = self.http.post(&self.at("/v3/user/createWithList")).json(&json!(users));
        self.notes.promises.push(Promise {
            service: Service::Petstore,
            place: self.place.clone(),
            paths: names.iter().map(|name| format!("/v3/user/{name}")).collect(),
            allowed: vec![vec![None, None], stored.to_vec()],
            request: format!("POST /v3/user/createWithList of {names:?}"),
        });
        self.send(call, 200).await?;
        self.done();
        Ok(())
    }

    async fn event(&mut self, number: usize) -> Result<(), Broken> {
        let body = json!({
            "name": format!("{} {number}", self.name), "location": "Print room", "eventDescription": "Before.",
            "dates": ["2099-06-05"], "price": 1,
        });
        let call = self.post("/v1.1/special-events").json(&body);
        let event = self.send(call, 201).await?.json();
        let path = format!("/v1.1/special-events/{}", event["eventId"].as_str().unwrap_or_default());
        self.promise(&path, Some(event.clone()), format!("POST /v1.1/special-events {body}"));
        if self.random.random_bool(0.5) {
            // More than one table: the dates are rows of their own.
            let changes =
                json!({"eventDescription": "After.", "dates": ["2099-06-12", "2099-06-19"], "price": 2});
            let mut changed = event;
            for (name, value) in changes.as_object().into_iter().flatten() {
                changed[name] = value.clone();
            }
            let call = self.authorized(self.http.patch(&self.at(&path))).json(&changes);
            self.change(call, 200, Some(changed), format!("PATCH {path} {changes}")).await?;
        }
        if self.random.random_bool(0.2) {
            let call = self.authorized(self.http.delete(&self.at(&path)));
            self.change(call, 204, None, format!("DELETE {path}")).await?;
        }
        Ok(())
    }

    async fn ticket(&mut self) -> Result<(), Broken> {
        let date = format!("2099-07-{}", self.random.random_range(11..17));
        let body = json!({"ticketType": "general", "ticketDate": date, "email": "ada@example.com"});
        let call = self.post("/v1.1/tickets").json(&body);
        let ticket = self.send(call, 201).await?.json();
        let id = ticket["ticketId"].as_str().unwrap_or_default();
        self.promise(
            &format!("/v1.1/tickets/{id}/pkpass"),
            Some(json!({"ticketId": id, "eventName": "General admission"})),
            format!("POST /v1.1/tickets {body}"),
        );
        Ok(())
    }

    /// A booking, mostly with a payment, sometimes cancelled.
    async fn booking(&mut self, number: usize) -> Result<(), Broken> {
        let trip = self.trips[self.random.random_range(0..self.trips.len())].clone();
        let passenger = format!("{} {number}", self.name);
        let body = json!({"trip_id": trip, "passenger_name": passenger});
        let Some(held) = self.keyed("/bookings", body, format!("{passenger} books"), 201).await? else {
            // The trip is sold out.
            return Ok(());
        };
        let path = format!("/bookings/{}", held["id"].as_str().unwrap_or_default());
        self.promise(&path, Some(held.clone()), format!("POST /bookings of {passenger}"));
        let state = |status: &str| {
            Some(json!({"id": held["id"], "trip_id": trip, "passenger_name": passenger, "status": status}))
        };
        let cards = ["4242424242424242", "4242424242424242", "4000000000000002", "4000000000000077"];
        let card = cards[self.random.random_range(0..cards.len())];
        let source = json!({"object": "card", "name": "Ada", "number": card, "cvc": "123", "exp_month": 12,
            "exp_year": 2099, "address_country": "gb"});
        self.allow(state("confirmed"), format!("POST {path}/payment with card {card}"));
        let (pays, paid) = (format!("{path}/payment"), format!("{passenger} pays"));
        let Some(payment) = self.keyed(&pays, json!({"source": source}), paid, 200).await? else {
            self.notes.violations.push(format!("POST {pays}: the payment was rejected"));
            return Ok(());
        };
        match payment["status"].as_str() {
            Some("succeeded") => self.done(),
            Some("failed") => self.not_done(),
            // It is decided later.
            _ => {}
        }
        if self.random.random_bool(0.2) {
            let call = self.authorized(self.http.delete(&self.at(&path)));
            self.change(call, 204, None, format!("DELETE {path}")).await?;
        }
        Ok(())
    }

    /// Sends a request with a key. There is no body after a conflict.
    async fn keyed(
        &mut self,
        path: &str,
        body: Value,
        key: String,
        status: u16,
    ) -> Result<Option<Value>, Broken> {
        let keyed = Keyed { place: self.place.clone(), path: path.to_owned(), body, key, answer: None };
        let call = keyed.call(&self.http);
        self.notes.keyed.push(keyed);
        // The last two are enough to be repeated later.
        if self.notes.keyed.len() > 2 {
            self.notes.keyed.remove(0);
        }
        let answer = self.answer(call).await?;
        if answer.status == 409 {
            self.notes.keyed.pop();
            return Ok(None);
        }
        let answer = self.expect(answer, status)?.json();
        if let Some(keyed) = self.notes.keyed.last_mut() {
            keyed.answer = Some(answer.clone());
        }
        Ok(Some(answer))
    }

    /// Changes the last resource: before the answer it may be in the old or in the new state.
    async fn change(&mut self, call: Call, status: u16, state: State, request: String) -> Result<(), Broken> {
        self.allow(state, request);
        self.send(call, status).await?;
        self.done();
        Ok(())
    }

    /// A new resource in this state.
    fn promise(&mut self, path: &str, state: State, request: String) {
        self.notes.promises.push(Promise {
            service: self.kind.service(),
            place: self.place.clone(),
            paths: vec![path.to_owned()],
            allowed: vec![vec![state]],
            request,
        });
        let _ = self.acknowledged.send(());
    }

    /// The last resource may be in this state as well.
    fn allow(&mut self, state: State, request: String) {
        if let Some(promise) = self.notes.promises.last_mut() {
            promise.allowed.push(vec![state]);
            promise.request = request;
        }
    }

    /// The last resource is in the state that was allowed last.
    fn done(&mut self) {
        if let Some(promise) = self.notes.promises.last_mut() {
            promise.allowed.drain(..promise.allowed.len() - 1);
        }
        let _ = self.acknowledged.send(());
    }

    /// The last resource is in the state that it had before.
    fn not_done(&mut self) {
        if let Some(promise) = self.notes.promises.last_mut() {
            promise.allowed.truncate(1);
        }
    }

    async fn send(&mut self, call: Call, status: u16) -> Result<Answer, Broken> {
        let answer = self.answer(call).await?;
        self.expect(answer, status)
    }

    async fn answer(&mut self, call: Call) -> Result<Answer, Broken> {
        let answer = call.try_send().await.map_err(|_| Broken)?;
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

    fn post(&self, path: &str) -> Call {
        self.authorized(self.http.post(&self.at(path)))
    }

    fn authorized(&self, call: Call) -> Call {
        call.header("authorization", &self.place.authorizations[self.kind.service() as usize])
    }
}
