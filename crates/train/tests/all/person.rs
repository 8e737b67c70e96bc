//! A user who calls the service, with the calls that most tests make.

use std::sync::{Arc, Mutex};

use db::Db;
use serde_json::Value;
use testkit::{Answer, Call, Client};
use uuid::Uuid;
use web::{Clock, Random};

use crate::fixture::{booking, payment, text};

/// A user with an account, who calls with an access token.
#[derive(Clone)]
pub(crate) struct Person {
    pub(crate) client: Client,
    pub(crate) account: Uuid,
    pub(crate) token: Arc<Mutex<String>>,
}

impl Person {
    pub(crate) async fn new(name: &str, client: &Client, db: &Db, clock: &Clock) -> Self {
        let (now, account) = (clock.now(), Random::system().uuid(clock.now()));
        let name = identity::account::Name::new(name).unwrap();
        // Without a password: no test signs in with one, and each hash takes time.
        let added = db.write(move |tx| identity::account::insert(tx, account, &name, None, now)).await;
        assert!(added.unwrap_or_else(|error: db::Error| panic!("{error}")));
        Person { client: client.clone(), account, token: Arc::default() }
    }

    /// Their access token.
    pub(crate) fn token(&self) -> String {
        self.token.lock().unwrap().clone()
    }

    pub(crate) fn get(&self, path: &str) -> Call {
        self.call(http::Method::GET, path)
    }

    pub(crate) fn post(&self, path: &str) -> Call {
        self.call(http::Method::POST, path)
    }

    pub(crate) fn delete(&self, path: &str) -> Call {
        self.call(http::Method::DELETE, path)
    }

    pub(crate) fn call(&self, method: http::Method, path: &str) -> Call {
        self.client.call(method, path).header("authorization", &format!("Bearer {}", self.token()))
    }

    /// Asks for a booking.
    pub(crate) async fn book(&self, body: &Value) -> Answer {
        self.post("/bookings").json(body).send().await
    }

    /// Holds a seat of a trip; gives the booking.
    pub(crate) async fn hold(&self, trip: &str) -> Value {
        self.book(&booking(trip)).await.has_status(201).json()
    }

    /// Reads a booking.
    pub(crate) async fn booking(&self, id: &str) -> Answer {
        self.get(&format!("/bookings/{id}")).send().await
    }

    /// A booking's status.
    pub(crate) async fn status(&self, booking: &Value) -> String {
        text(&self.booking(text(booking, "id")).await.has_status(200).json(), "status").to_owned()
    }

    pub(crate) async fn cancel(&self, booking: &Value) -> Answer {
        self.delete(&format!("/bookings/{}", text(booking, "id"))).send().await
    }

    /// Pays for a booking.
    pub(crate) async fn pay(&self, booking: &Value, body: &Value) -> Answer {
        self.post(&payment(booking)).json(body).send().await
    }
}
