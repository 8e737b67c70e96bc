//! The fixture of a test: an open pet store on an empty database, with two users who have logged in.
//!
//! The users have no password, since hashing one takes longer than most tests: their sessions and access tokens are made
//! as the program's own commands would make them.

use std::sync::OnceLock;

use db::Db;
use http::Method;
use identity::{
    ApiKeys, Hashing, Sessions,
    account::{self, Name},
    oauth::{AuthorizationServer, NewClient},
    session::Kind,
};
use jiff::SignedDuration;
use petstore::{MIGRATIONS, Petstore, SERVICE, Settings};
use serde_json::Value;
use service::Instance;
use testkit::{Address, Answer, Call, Client, Engine, Fixture, Server, Store};
use uuid::Uuid;
use web::{Clock, ConnectionLimits, Controls, Random, RequestLimits};

use crate::answers::text;

/// When the tests begin.
pub(crate) const START: &str = "2026-05-13T10:00:00Z";

/// How to open the store.
pub(crate) struct Setup {
    pub(crate) demo: bool,
    pub(crate) calls_per_hour: u32,
    /// Whether users can be made by the list without logging in.
    pub(crate) open_sign_up: bool,
    /// How many users an hour can be made from an address.
    pub(crate) sign_ups_per_hour: u32,
    pub(crate) limits: RequestLimits,
    pub(crate) controls: Controls,
    /// The public address; by default the address of the listener.
    pub(crate) address: Option<String>,
}

impl Default for Setup {
    fn default() -> Self {
        Setup {
            demo: false,
            calls_per_hour: 100_000,
            open_sign_up: false,
            sign_ups_per_hour: 1000,
            limits: RequestLimits::default(),
            controls: Controls::default(),
            address: None,
        }
    }
}

pub(crate) fn with_demo() -> Setup {
    Setup { demo: true, ..Setup::default() }
}

/// A caller of the store, with the same headers each time.
#[derive(Clone)]
pub(crate) struct As {
    pub(crate) client: Client,
    pub(crate) headers: Vec<(&'static str, String)>,
}

impl As {
    pub(crate) fn with(&self, name: &'static str, value: impl Into<String>) -> Self {
        let mut other = self.clone();
        other.headers.push((name, value.into()));
        other
    }

    pub(crate) fn bearer(&self, token: &str) -> Self {
        self.with("authorization", format!("Bearer {token}"))
    }

    pub(crate) fn call(&self, method: Method, path: &str) -> Call {
        let call = self.client.call(method, path);
        self.headers.iter().fold(call, |call, (name, value)| call.header(name, value))
    }

    pub(crate) fn get(&self, path: &str) -> Call {
        self.call(Method::GET, path)
    }

    pub(crate) fn post(&self, path: &str) -> Call {
        self.call(Method::POST, path)
    }

    pub(crate) fn put(&self, path: &str) -> Call {
        self.call(Method::PUT, path)
    }

    pub(crate) fn delete(&self, path: &str) -> Call {
        self.call(Method::DELETE, path)
    }
}

/// The store, open.
pub(crate) struct Open {
    /// Without any credentials.
    pub(crate) anyone: As,
    /// With an access token for pets, of Ada's.
    pub(crate) pets: As,
    /// With an API key.
    pub(crate) key: As,
    /// With a session of Ada's, as a bearer token.
    pub(crate) ada: As,
    /// With one of Ben's.
    pub(crate) ben: As,
    pub(crate) petstore: Petstore,
    pub(crate) db: Db,
    pub(crate) clock: Clock,
    /// The address that the store takes for its own.
    pub(crate) address: String,
    pub(crate) issuer: AuthorizationServer,
    pub(crate) server: Server,
    pub(crate) store: Store,
}

impl Fixture for Open {
    async fn start(engine: Engine) -> Self {
        Open::on(Store::new(engine), Setup::default()).await
    }
}

impl Open {
    /// Opens the store on an empty database, where Ada and Ben become its users.
    pub(crate) async fn on(store: Store, setup: Setup) -> Self {
        let clock = Clock::manual(START.parse().unwrap());
        let db = store.open("petstore", MIGRATIONS);
        bring_signing_key(&db, &clock).await;
        let open = Open::with(store, db, clock, setup).await;
        keep_signing_key(&open.db).await;
        open
    }

    async fn with(store: Store, db: Db, clock: Clock, setup: Setup) -> Self {
        let place = Address::free().await;
        let address = setup.address.clone().unwrap_or_else(|| place.url());
        let petstore = open(&setup, &address, &db, &clock).await;
        let own = setup.address.as_deref().unwrap_or_default();
        let server = place.serve_as(own, ConnectionLimits::default(), petstore.app());
        let anyone = As { client: Client::new(server.address()), headers: Vec::new() };
        let issuer = SERVICE.authorization_server(&instance(&setup, &address, &db, &clock)).await.unwrap();
        let mut open = Open {
            pets: anyone.clone(),
            key: anyone.clone(),
            ada: anyone.clone(),
            ben: anyone.clone(),
            anyone,
            petstore,
            db,
            clock,
            address,
            issuer,
            server,
            store,
        };
        open.sign_everybody_in().await;
        open
    }

    async fn sign_everybody_in(&mut self) {
        if self.account("ada").await.is_none() {
            add_users(&self.db, &self.clock).await;
        }
        let keys = ApiKeys::new(false, self.db.clone(), self.clock.clone(), Random::system());
        keys.remove("test").await.unwrap();
        self.key = self.anyone.with("api_key", keys.add("test").await.unwrap().unwrap());
        self.ada = self.anyone.bearer(&self.session_of("ada").await);
        self.ben = self.anyone.bearer(&self.session_of("ben").await);
        self.pets = self.anyone.bearer(&self.token_of("ada", None).await);
    }

    /// Closes the store and opens it again on the same database, at the time it was closed.
    pub(crate) async fn reopen(self, setup: Setup) -> Self {
        let Open { petstore, db, clock, server, store, issuer, .. } = self;
        server.stop().await;
        drop((petstore, db, issuer));
        let db = store.open("petstore", MIGRATIONS);
        Open::with(store, db, clock, setup).await
    }

    /// The store as another process on the same database has it, and callers of it like those of this one.
    pub(crate) async fn another(&self, setup: &Setup) -> Another {
        let db = self.store.open("petstore", MIGRATIONS);
        let petstore = open(setup, &self.address, &db, &self.clock).await;
        let router = petstore.app();
        let server = Server::start(ConnectionLimits::default(), |_| router).await;
        let client = Client::new(server.address());
        let moved = |caller: &As| As { client: client.clone(), headers: caller.headers.clone() };
        Another {
            pets: moved(&self.pets),
            ada: moved(&self.ada),
            anyone: moved(&self.anyone),
            _server: server,
        }
    }

    pub(crate) fn advance(&self, seconds: i64) {
        self.clock.advance(SignedDuration::from_secs(seconds));
    }

    /// The account of a user.
    pub(crate) async fn account(&self, name: &str) -> Option<Uuid> {
        let name = name.to_owned();
        let found = self.db.read(move |tx| {
            tx.row("SELECT id FROM account WHERE name = $1", &[name.as_str().into()], |row| row.get(0))
        });
        found.await.unwrap_or_else(|error: db::Error| panic!("{error}"))
    }

    /// A session of a user's, as logging in would start it.
    pub(crate) async fn session_of(&self, name: &str) -> String {
        let sessions = Sessions::new(true, self.db.clone(), self.clock.clone(), Random::system());
        let account = self.account(name).await.unwrap();
        sessions.start(Kind::Api, account, SignedDuration::from_hours(1)).await.unwrap().secret
    }

    /// An access token of a user's, with this scope or all.
    pub(crate) async fn token_of(&self, name: &str, scope: Option<&str>) -> String {
        let account = self.account(name).await.unwrap();
        self.issuer.token_for(account, scope).await.unwrap()
    }

    /// An access token of a client itself, without a user.
    pub(crate) async fn token_of_a_client(&self) -> String {
        let new = NewClient {
            name: "A program".into(),
            redirect_uris: Vec::new(),
            scopes: Vec::new(),
            confidential: true,
        };
        let (client, secret) = self.issuer.add_client(new).await.unwrap();
        let form = format!(
            "grant_type=client_credentials&client_id={}&client_secret={}",
            client.id,
            secret.unwrap()
        );
        let call = self.anyone.post("/oauth/token").body("application/x-www-form-urlencoded", form);
        text(&call.send().await.has_status(200).json(), "access_token").to_owned()
    }

    /// Adds a pet; gives it as it was answered.
    pub(crate) async fn add(&self, pet: &Value) -> Value {
        self.pets.post("/v3/pet").json(pet).send().await.has_status(200).json()
    }

    pub(crate) async fn pet(&self, id: i64) -> Answer {
        self.pets.get(&format!("/v3/pet/{id}")).send().await
    }

    pub(crate) async fn order(&self, id: i64) -> Answer {
        self.anyone.get(&format!("/v3/store/order/{id}")).send().await
    }

    pub(crate) async fn user(&self, name: &str) -> Answer {
        self.anyone.get(&format!("/v3/user/{name}")).send().await
    }

    pub(crate) async fn inventory(&self) -> Value {
        self.key.get("/v3/store/inventory").send().await.has_status(200).json()
    }
}

/// Adds Ada and Ben, as an operator would, but without passwords.
async fn add_users(db: &Db, clock: &Clock) {
    let now = clock.now();
    let write = db.write(move |tx| {
        for (id, name) in [(2001_i64, "ada"), (2002, "ben")] {
            let account = Uuid::from_u128(id as u128);
            assert!(account::insert(tx, account, &Name::new(name).unwrap(), None, now)?);
            tx.execute(
                "INSERT INTO store_user (id, account_id) VALUES ($1, $2)",
                &[id.into(), account.into()],
            )?;
        }
        Ok::<_, db::Error>(())
    });
    write.await.unwrap();
}

/// The key that signs access tokens. The first store makes it and all others get it, since making one takes longer than
/// most tests.
static SIGNING_KEY: OnceLock<(String, Vec<u8>)> = OnceLock::new();

async fn bring_signing_key(db: &Db, clock: &Clock) {
    let (Some((id, key)), now) = (SIGNING_KEY.get(), clock.now()) else { return };
    let write = db.write(move |tx| {
        tx.execute(
            "INSERT INTO signing_key (number, id, private_key, signs_from) VALUES (1, $1, $2, $3)",
            &[id.into(), key.as_slice().into(), now.into()],
        )
    });
    write.await.unwrap_or_else(|error: db::Error| panic!("{error}"));
}

async fn keep_signing_key(db: &Db) {
    let read = db.read(|tx| {
        tx.row("SELECT id, private_key FROM signing_key", &[], |row| Ok((row.get(0)?, row.get(1)?)))
    });
    let key = read.await.unwrap_or_else(|error: db::Error| panic!("{error}"));
    let _ = SIGNING_KEY.set(key.unwrap());
}

/// One more process of the same store.
pub(crate) struct Another {
    pub(crate) pets: As,
    pub(crate) ada: As,
    pub(crate) anyone: As,
    _server: Server,
}

async fn open(setup: &Setup, address: &str, db: &Db, clock: &Clock) -> Petstore {
    let settings = Settings {
        calls_per_hour: setup.calls_per_hour,
        open_sign_up: setup.open_sign_up,
        sign_ups_per_hour: setup.sign_ups_per_hour,
        ..Settings::default()
    };
    Petstore::open(&settings, instance(setup, address, db, clock)).await.unwrap()
}

fn instance(setup: &Setup, address: &str, db: &Db, clock: &Clock) -> Instance {
    let instance = Instance::new(db.clone(), clock.clone(), Random::system()).at(address);
    let controls = setup.controls.clone();
    Instance { limits: setup.limits, demo: setup.demo, hashing: Hashing::LEAST_WORK, controls, ..instance }
}
