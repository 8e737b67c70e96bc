//! A service with accounts and one operation, on either engine, with a clock to move.

use std::{
    net::{IpAddr, Ipv4Addr},
    sync::Arc,
};

use axum::{Router, routing::get};
use db::Db;
use identity::{Accounts, Caller, Hashing, SignInError};
use jiff::SignedDuration;
use testkit::{Client, Engine, Fixture, Server, Store};
use tokio::task::JoinSet;
use uuid::Uuid;
use web::{Clock, ConnectionLimits, Random};

/// The address that tests call from, unless they choose one.
pub(crate) const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

pub(crate) const PASSWORD: &str = "correct horse";

pub(crate) struct World {
    pub(crate) db: Db,
    pub(crate) clock: Clock,
    pub(crate) accounts: Accounts,
    pub(crate) client: Client,
    _server: Server,
    // Last, so that it is still there when the database is closed.
    pub(crate) store: Store,
}

impl Fixture for World {
    async fn start(engine: Engine) -> Self {
        let store = Store::new(engine);
        let clock = Clock::manual("2026-03-01T12:00:00Z".parse().expect("a time"));
        let db = store.open("test", &[identity::MIGRATIONS]);
        let accounts = open(&db, &clock, true);
        let state = accounts.clone();
        let server = Server::start(ConnectionLimits::default(), |_| router(state)).await;
        let client = Client::new(server.address());
        World { db, clock, accounts, client, _server: server, store }
    }
}

pub(crate) fn router(accounts: Accounts) -> Router {
    Router::new().route("/me", get(async |caller: Caller| caller.account.to_string())).with_state(accounts)
}

fn open(db: &Db, clock: &Clock, demo: bool) -> Accounts {
    open_with(db, clock, demo, Hashing::LEAST_WORK)
}

fn open_with(db: &Db, clock: &Clock, demo: bool, hashing: Hashing) -> Accounts {
    Accounts::with_hashing("Test", demo, db.clone(), clock.clone(), Random::system(), hashing)
        .expect("the accounts open")
}

impl World {
    /// The accounts as another process on the same database has them.
    pub(crate) fn another(&self) -> Accounts {
        open(&self.store.open("test", &[identity::MIGRATIONS]), &self.clock, true)
    }

    /// The accounts without demo mode.
    pub(crate) fn without_demo(&self) -> Accounts {
        open(&self.db, &self.clock, false)
    }

    /// The accounts with passwords that are hashed in another way, and a client of a service that has them.
    pub(crate) async fn with_hashing(&self, hashing: Hashing) -> (Accounts, Client, Server) {
        let accounts = open_with(&self.db, &self.clock, true, hashing);
        let state = accounts.clone();
        let server = Server::start(ConnectionLimits::default(), |_| router(state)).await;
        (accounts, Client::new(server.address()), server)
    }

    pub(crate) async fn add(&self, name: &str, password: &str) -> Uuid {
        self.accounts.add(name, password.into()).await.expect("the account is added")
    }

    pub(crate) fn advance(&self, seconds: i64) {
        self.clock.advance(SignedDuration::from_secs(seconds));
    }

    /// Signs in over HTTP, and gives the status.
    pub(crate) async fn call(&self, name: &str, password: &str) -> u16 {
        self.client.signed_in(name, password).get("/me").send().await.status
    }

    /// All meters: their keys and their counts.
    pub(crate) async fn meters(&self) -> Vec<(Vec<u8>, i64)> {
        let read = self.db.read(|tx| {
            tx.rows("SELECT subject, full_at FROM sign_in_throttle ORDER BY full_at, subject", &[], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
        });
        read.await.unwrap_or_else(|error: db::Error| panic!("{error}"))
    }

    pub(crate) async fn stored_hash(&self, name: &str) -> String {
        let name = name.to_owned();
        let read = self.db.read(move |tx| {
            tx.row("SELECT password_hash FROM account WHERE name = $1", &[name.as_str().into()], |row| {
                row.get(0)
            })
        });
        read.await.unwrap_or_else(|error: db::Error| panic!("{error}")).expect("the account is there")
    }
}

/// How an attempt to sign in went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    In(Uuid),
    Wrong,
    Wait(u64),
    Busy,
}

pub(crate) async fn sign_in(
    accounts: &Accounts,
    name: &str,
    password: &str,
    address: impl Into<IpAddr>,
) -> Outcome {
    match accounts.sign_in(name, password.into(), Into::<IpAddr>::into(address)).await {
        Ok(id) => Outcome::In(id),
        Err(SignInError::Wrong) => Outcome::Wrong,
        Err(SignInError::Wait(seconds)) => Outcome::Wait(seconds),
        Err(SignInError::Busy) => Outcome::Busy,
        Err(other) => panic!("{other}"),
    }
}

/// Makes many attempts at once, `(name, password, address)` each.
pub(crate) async fn at_once(
    accounts: &Accounts,
    attempts: impl IntoIterator<Item = (String, &'static str, IpAddr)>,
) -> Vec<Outcome> {
    let accounts = Arc::new(accounts.clone());
    let mut running = JoinSet::new();
    for (name, password, address) in attempts {
        let accounts = accounts.clone();
        running.spawn(async move { sign_in(&accounts, &name, password, address).await });
    }
    running.join_all().await
}

pub(crate) fn count(outcomes: &[Outcome], wanted: Outcome) -> usize {
    outcomes.iter().filter(|&&outcome| outcome == wanted).count()
}

/// The `number`th of many IPv4 addresses.
pub(crate) fn address(number: u16) -> IpAddr {
    let [high, low] = number.to_be_bytes();
    Ipv4Addr::new(10, 0, high, low).into()
}
