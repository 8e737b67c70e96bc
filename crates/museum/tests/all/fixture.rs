//! The fixture of a test: an open museum on an empty database, at noon on a Wednesday.

use db::Db;
use identity::Hashing;
use jiff::{SignedDuration, Timestamp};
use museum::{MIGRATIONS, Museum, Settings};
use serde_json::{Value, json};
use service::{Instance, Service};
use testkit::{Answer, Client, Engine, Fixture, Server, Store};
use web::{Clock, ConnectionLimits, Controls, Random, RequestLimits};

/// When the tests begin: Wednesday 13 May 2026, noon in Amsterdam.
pub(crate) const START: &str = "2026-05-13T10:00:00Z";

/// The visitors' names and passwords.
pub(crate) const ADA: (&str, &str) = ("ada", "swordfish-1");
pub(crate) const BEN: (&str, &str) = ("ben", "hunter2-hunter2");

/// The header with Ada's credentials, for raw requests.
pub(crate) const ADA_BASIC: &str = "Basic YWRhOnN3b3JkZmlzaC0x";

/// How to open the museum.
pub(crate) struct Setup {
    pub(crate) settings: Settings,
    pub(crate) demo: bool,
    pub(crate) start: &'static str,
    pub(crate) limits: RequestLimits,
    pub(crate) controls: Controls,
}

impl Default for Setup {
    fn default() -> Self {
        Setup {
            settings: Settings::default(),
            demo: false,
            start: START,
            limits: RequestLimits::default(),
            controls: Controls::default(),
        }
    }
}

/// The museum, open.
pub(crate) struct Open {
    pub(crate) anyone: Client,
    pub(crate) ada: Client,
    pub(crate) ben: Client,
    pub(crate) museum: Museum,
    pub(crate) db: Db,
    pub(crate) clock: Clock,
    demo: bool,
    server: Server,
    pub(crate) store: Store,
}

/// The museum in another process.
pub(crate) struct Another {
    pub(crate) client: Client,
    _server: Server,
}

impl Fixture for Open {
    async fn start(engine: Engine) -> Self {
        Open::on(Store::new(engine), Setup::default()).await
    }
}

impl Open {
    /// Opens the museum on an empty database, where the visitors get their accounts.
    pub(crate) async fn on(store: Store, setup: Setup) -> Self {
        let clock = Clock::manual(setup.start.parse().unwrap());
        let open = Open::with(store, clock, setup).await;
        for (name, password) in [ADA, BEN] {
            open.museum.accounts().add(name, password.into()).await.unwrap();
        }
        open
    }

    async fn with(store: Store, clock: Clock, setup: Setup) -> Self {
        let db = store.open("museum", MIGRATIONS);
        let instance = Instance::new(db.clone(), clock.clone(), Random::system());
        let address = setup.settings.instance_address(service::Scheme::Http, setup.settings.listen);
        let instance = Instance {
            demo: setup.demo,
            limits: setup.limits,
            controls: setup.controls,
            hashing: Hashing::LEAST_WORK,
            ..instance.at(address)
        };
        let museum = Museum::open(&setup.settings, instance).await.unwrap();
        let router = museum.app();
        let server = Server::start(ConnectionLimits::default(), |_| router).await;
        let anyone = Client::new(server.address());
        let ada = anyone.signed_in(ADA.0, ADA.1);
        let ben = anyone.signed_in(BEN.0, BEN.1);
        Open { anyone, ada, ben, museum, db, clock, demo: setup.demo, server, store }
    }

    /// Opens the museum with these settings; gives the error for the operator if it does not open.
    pub(crate) async fn try_on(store: &Store, settings: &Settings) -> Result<(), String> {
        let db = store.open("museum", MIGRATIONS);
        let instance = Instance::new(db, Clock::manual(START.parse().unwrap()), Random::system());
        Museum::open(settings, instance).await.map(drop).map_err(|error| error.to_string())
    }

    /// Opens the museum once more on the same database, with connections of its own, as another process does.
    pub(crate) async fn another_process(&self) -> Another {
        let db = self.store.open("museum", MIGRATIONS);
        let instance = Instance::new(db, self.clock.clone(), Random::system());
        let instance = Instance { hashing: Hashing::LEAST_WORK, demo: self.demo, ..instance };
        let museum = Museum::open(&Settings::default(), instance).await.unwrap();
        let server = Server::start(ConnectionLimits::default(), |_| museum.app()).await;
        Another { client: Client::new(server.address()), _server: server }
    }

    /// Removes an account, as an operator does.
    pub(crate) async fn remove_user(&self, name: &str) -> Result<(), identity::ChangeError> {
        let instance = Instance::new(self.db.clone(), self.clock.clone(), Random::system());
        Settings::default().remove_user(&instance, name).await
    }

    /// Closes the museum and opens it again on the same database, at the time it was closed.
    pub(crate) async fn reopen(self, setup: Setup) -> Self {
        let Open { museum, db, clock, server, store, .. } = self;
        server.stop().await;
        drop((museum, db));
        Open::with(store, clock, setup).await
    }

    /// Moves the museum's clock forward to a moment.
    pub(crate) fn advance_to(&self, moment: &str) {
        let moment: Timestamp = moment.parse().unwrap();
        let by = moment.duration_since(self.clock.now());
        assert!(by >= SignedDuration::ZERO, "the clock is past {moment} already");
        self.clock.advance(by);
    }

    /// Has Ada create an event; gives it as it was answered.
    pub(crate) async fn create(&self, event: &Value) -> Value {
        let answer = self.ada.post("/v1.1/special-events").json(event).send().await;
        answer.has_status(201).json()
    }

    /// Has Ada read one event.
    pub(crate) async fn event(&self, id: &str) -> Answer {
        self.ada.get(&format!("/v1.1/special-events/{id}")).send().await
    }

    /// Has Ada change one.
    pub(crate) async fn patch(&self, id: &str, changes: &Value) -> Answer {
        self.ada.patch(&format!("/v1.1/special-events/{id}")).json(changes).send().await
    }

    /// Has Ada list events.
    pub(crate) async fn events(&self, query: &str) -> Answer {
        self.ada.get(&format!("/v1.1/special-events{query}")).send().await
    }

    /// Has Ada ask for a ticket.
    pub(crate) async fn buy(&self, purchase: &Value) -> Answer {
        self.ada.post("/v1.1/tickets").json(purchase).send().await
    }

    /// Has Ada open a ticket in her wallet.
    pub(crate) async fn pass(&self, ticket: &str) -> Answer {
        self.ada.get(&format!("/v1.1/tickets/{ticket}/pkpass")).send().await
    }
}

/// A valid event.
pub(crate) fn event(name: &str, dates: &[&str]) -> Value {
    json!({
        "name": name,
        "location": "Room 12",
        "eventDescription": "Bring a torch.",
        "dates": dates,
        "price": 15,
    })
}

/// A valid purchase of a general ticket.
pub(crate) fn general(date: &str) -> Value {
    json!({"ticketType": "general", "ticketDate": date, "email": "ada@example.com"})
}

/// A purchase of a ticket for an event.
pub(crate) fn ticket_to(event: &Value, date: &str) -> Value {
    json!({
        "ticketType": "event", "eventId": event["eventId"], "ticketDate": date, "email": "ada@example.com",
    })
}

/// A member of an answer that is text.
#[track_caller]
pub(crate) fn text<'a>(body: &'a Value, member: &str) -> &'a str {
    body[member].as_str().unwrap_or_else(|| panic!("no text {member} in {body}"))
}

/// That member of each item of a list.
#[track_caller]
pub(crate) fn each(answer: &Answer, member: &str) -> Vec<String> {
    let list = answer.has_status(200).json();
    let items = list.as_array().unwrap_or_else(|| panic!("no list: {list}"));
    items.iter().map(|item| text(item, member).to_owned()).collect()
}

/// An answer as it came over the wire, for requests that are written by hand.
#[track_caller]
pub(crate) fn parse(answer: &str) -> Answer {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {answer}"));
    let mut lines = head.split("\r\n");
    let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok());
    let headers = lines.map(|line| {
        let (name, value) = line.split_once(": ").unwrap_or_else(|| panic!("no header: {line}"));
        (name.parse::<http::HeaderName>().unwrap(), value.parse().unwrap())
    });
    Answer { status: status.unwrap(), headers: headers.collect(), body: body.as_bytes().to_vec() }
}
