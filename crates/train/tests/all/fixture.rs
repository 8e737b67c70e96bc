//! The fixture of a test: an open train service on an empty database, at noon on a Wednesday in May.

use service::Instance;
use std::sync::{Arc, Mutex};

use db::Db;
use identity::{
    Hashing,
    oauth::{AuthorizationServer, NewClient},
};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use testkit::{Answer, Client, Engine, Fixture, Server, Store};
use train::{MIGRATIONS, SERVICE, Settings, Train};
use uuid::Uuid;
use web::{Clock, ConnectionLimits, Controls, Random, RequestLimits};

use crate::person::Person;

/// When the tests begin: Wednesday 13 May 2026, noon in Berlin.
pub(crate) const START: &str = "2026-05-13T10:00:00Z";

/// The public address of the service, as in its links.
pub(crate) const ADDRESS: &str = "https://trains.example";

pub(crate) const BERLIN: &str = "efdbb9d1-02c2-4bc3-afb7-6788d8782b1e";
pub(crate) const PARIS: &str = "b2e783e1-c824-4d63-b37a-d8d698862f1d";
pub(crate) const LUZERN: &str = "b819f0ae-fb48-52a9-9626-82fbe00490df";
pub(crate) const INTERLAKEN: &str = "3256f587-2dfd-5b5a-a8f8-2b063fd37f50";

/// TGV 9710 from Berlin to Paris on Wednesday 20 May 2026: takes all, costs 89.00 eur, has 340 seats.
pub(crate) const TRIP: &str = "2f87bac9-12fc-8000-80a8-ac0100005071";
/// ICE 940 on that day takes bicycles and no dogs.
pub(crate) const NO_DOGS: &str = "c087c980-a809-8000-8027-8c9500005071";
/// TGV 9712 on that day takes dogs and no bicycles.
pub(crate) const NO_BICYCLES: &str = "9cef43f2-5f7a-8000-8052-8cde00005071";
/// PE 2911 from Luzern to Interlaken on that day at 6:06 costs 40.00 chf and has 12 seats.
pub(crate) const SMALL: &str = "a82812fa-ed74-8000-80fd-35c400005071";

/// A well-formed, unknown id.
pub(crate) const NOTHING: &str = "019e0000-0000-7000-8000-000000000000";

/// How long a seat is held.
pub(crate) const HOLD: SignedDuration = SignedDuration::from_hours(1);

/// How to open the service.
pub(crate) struct Setup {
    pub(crate) start: &'static str,
    pub(crate) settings: Settings,
    pub(crate) secret: [u8; 32],
    pub(crate) limits: RequestLimits,
    pub(crate) demo: bool,
    pub(crate) controls: Controls,
}

impl Default for Setup {
    fn default() -> Self {
        Setup {
            start: START,
            settings: Settings::default(),
            secret: [7; 32],
            limits: RequestLimits::default(),
            demo: false,
            controls: Controls::default(),
        }
    }
}

/// An instance of the service on this database.
pub(crate) fn instance(setup: &Setup, db: &Db, clock: &Clock) -> Instance {
    Instance {
        limits: setup.limits,
        demo: setup.demo,
        controls: setup.controls.clone(),
        is_local: setup.demo,
        secret: web::InstallationSecret::new(&setup.secret),
        hashing: Hashing::LEAST_WORK,
        ..Instance::new(db.clone(), clock.clone(), Random::system()).at(ADDRESS)
    }
}

/// The service, open.
pub(crate) struct Open {
    pub(crate) anyone: Client,
    pub(crate) ada: Person,
    pub(crate) ben: Person,
    pub(crate) train: Train,
    pub(crate) db: Db,
    pub(crate) clock: Clock,
    pub(crate) sign_in: AuthorizationServer,
    _server: Server,
    // Last, so that it is still there when the database is closed.
    pub(crate) store: Store,
}

impl Fixture for Open {
    async fn start(engine: Engine) -> Self {
        Open::on(Store::new(engine), Setup::default()).await
    }
}

impl Open {
    /// Opens the service on an empty database, where the travellers get their accounts.
    pub(crate) async fn on(store: Store, setup: Setup) -> Self {
        let clock = Clock::manual(setup.start.parse().unwrap());
        let db = store.open("train", MIGRATIONS);
        lend_key(&db, clock.now()).await;
        let instance = instance(&setup, &db, &clock);
        let train = Train::open(setup.settings, instance.clone()).await.unwrap();
        let router = train.app();
        let server = Server::start(ConnectionLimits::default(), |_| router).await;
        let anyone = Client::new(server.address());
        let sign_in = SERVICE.authorization_server(&instance).await.unwrap();
        let ada = Person::new("ada", &anyone, &db, &clock).await;
        let ben = Person::new("ben", &anyone, &db, &clock).await;
        let open = Open { anyone, ada, ben, train, db, clock, sign_in, _server: server, store };
        open.renew().await;
        keep_key(&open.db).await;
        open
    }

    /// Opens the service for tests that make more bookings than a user may hold without paying.
    pub(crate) async fn for_many_holds(store: Store) -> Self {
        let settings = Settings { unpaid_holds: u32::MAX, ..Settings::default() };
        Open::on(store, Setup { settings, ..Setup::default() }).await
    }

    /// Gives both travellers fresh access tokens, since those last ten minutes only.
    async fn renew(&self) {
        for person in [&self.ada, &self.ben] {
            let token = self.token(person, "read write").await;
            *person.token.lock().unwrap() = token;
        }
    }

    /// An access token of a user with this scope.
    pub(crate) async fn token(&self, person: &Person, scope: &str) -> String {
        self.sign_in.token_for(person.account, Some(scope)).await.unwrap()
    }

    /// A traveller that may do no more than this.
    pub(crate) async fn with_scope(&self, person: &Person, scope: &str) -> Person {
        let token = Arc::new(Mutex::new(self.token(person, scope).await));
        Person { client: person.client.clone(), account: person.account, token }
    }

    /// A client with its own token: its id and the caller.
    pub(crate) async fn program(&self) -> (String, Person) {
        let new = NewClient {
            name: "Robot".into(),
            redirect_uris: Vec::new(),
            scopes: vec!["read".into(), "write".into()],
            confidential: true,
        };
        let (client, secret) = self.sign_in.add_client(new).await.unwrap();
        let form = format!(
            "grant_type=client_credentials&client_id={}&client_secret={}",
            client.id,
            secret.unwrap_or_default()
        );
        let call = self.anyone.post("/oauth/token").body("application/x-www-form-urlencoded", form);
        let answer = call.send().await.has_status(200).json();
        let token = Arc::new(Mutex::new(text(&answer, "access_token").to_owned()));
        (client.id, Person { client: self.anyone.clone(), account: Uuid::nil(), token })
    }

    /// Moves the service's clock forward.
    pub(crate) async fn advance(&self, by: SignedDuration) {
        self.clock.advance(by);
        self.renew().await;
    }

    /// Moves it forward to a moment.
    pub(crate) async fn advance_to(&self, moment: &str) {
        let moment: Timestamp = moment.parse().unwrap();
        let by = moment.duration_since(self.clock.now());
        assert!(by >= SignedDuration::ZERO, "the clock is past {moment} already");
        self.advance(by).await;
    }

    /// Does the background work that is due.
    pub(crate) async fn do_due_work(&self) {
        self.train.do_due_work().await.unwrap();
    }

    /// How many seats of a trip are left.
    pub(crate) async fn seats(&self, trip: &str) -> i64 {
        let answer = self.ada.get(&format!("/trips/{trip}")).send().await;
        answer.has_status(200).json()["seats_available"].as_i64().unwrap()
    }
}

/// The key that signs the tokens of all tests: to make one costs more than most of them.
static KEY: Mutex<Option<(String, Vec<u8>)>> = Mutex::new(None);

async fn lend_key(db: &Db, now: Timestamp) {
    let Some((id, key)) = KEY.lock().unwrap().clone() else { return };
    let lent = db.write(move |tx| {
        let row = [(&id).into(), key.as_slice().into(), now.into()];
        tx.execute(
            "INSERT INTO signing_key (number, id, private_key, signs_from) VALUES (1, $1, $2, $3)",
            &row,
        )
    });
    assert_eq!(lent.await.unwrap_or_else(|error: db::Error| panic!("{error}")), 1);
}

async fn keep_key(db: &Db) {
    let key = db.read(|tx| {
        tx.row("SELECT id, private_key FROM signing_key", &[], |row| Ok((row.get(0)?, row.get(1)?)))
    });
    *KEY.lock().unwrap() = key.await.unwrap_or_else(|error: db::Error| panic!("{error}"));
}

/// Where a booking is paid.
pub(crate) fn payment(booking: &Value) -> String {
    format!("/bookings/{}/payment", text(booking, "id"))
}

/// A valid booking.
pub(crate) fn booking(trip: &str) -> Value {
    json!({"trip_id": trip, "passenger_name": "Ada Lovelace"})
}

/// A payment by the card of this number.
pub(crate) fn card(number: &str) -> Value {
    json!({"source": {
        "object": "card", "name": "A. Lovelace", "number": number, "cvc": "987", "exp_month": 12,
        "exp_year": 2031, "address_country": "gb",
    }})
}

/// A valid card.
pub(crate) const GOOD: &str = "4242424242424242";

/// A member of an answer that is text.
#[track_caller]
pub(crate) fn text<'a>(body: &'a Value, member: &str) -> &'a str {
    body[member].as_str().unwrap_or_else(|| panic!("no text {member} in {body}"))
}

/// That member of each item of a page.
#[track_caller]
pub(crate) fn each(answer: &Answer, member: &str) -> Vec<String> {
    let page = answer.has_status(200).json();
    let items = page["data"].as_array().unwrap_or_else(|| panic!("no data: {page}"));
    items.iter().map(|item| text(item, member).to_owned()).collect()
}

/// Asserts the status and the exact document in XML.
#[track_caller]
pub(crate) fn is_xml(answer: &Answer, status: u16, content: &str) {
    let expected = format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>{content}");
    assert_eq!((answer.status, answer.text()), (status, expected));
    assert_eq!(answer.header("content-type"), "application/xml");
}

/// A number with exactly these digits in a body: `89.00` differs from `89.0`.
pub(crate) fn number(digits: &str) -> Value {
    digits.parse().unwrap()
}

/// The `Vary` header of an answer.
pub(crate) fn vary(answer: &Answer) -> Vec<&str> {
    let mut told: Vec<_> =
        answer.headers.get_all("vary").iter().flat_map(|value| value.to_str().unwrap().split(", ")).collect();
    told.sort_unstable();
    told
}
