//! A user of the train service of a sandbox: signs in with a browser, searches, books.

use serde_json::{Value, json};
use testkit::{Answer, Call, Client};

use crate::fixture::Process;

const FORM: &str = "application/x-www-form-urlencoded";

/// A route with several trains a day.
const ROUTE: &str =
    "origin=efdbb9d1-02c2-4bc3-afb7-6788d8782b1e&destination=b2e783e1-c824-4d63-b37a-d8d698862f1d";

/// The time at which most tests begin, a Monday.
pub(crate) const START: &str = "2030-06-03T09:00:00Z";

/// The demo user, who has signed in.
pub(crate) struct User {
    pub(crate) train: Client,
    pub(crate) prefix: String,
    pub(crate) access_token: String,
    pub(crate) refresh_token: String,
}

impl User {
    /// Signs in on the pages and gives the demo client its tokens.
    pub(crate) async fn sign_in(process: &Process, sandbox: &Value) -> Self {
        let train = process.train.clone();
        let prefix = format!("/sandbox/{}", sandbox["name"].as_str().unwrap());
        let tokens = testkit::sign_in::tokens(&train, &prefix, "read+write", "demo", "demo").await;
        let text = |name: &str| tokens[name].as_str().unwrap().to_owned();
        User { train, prefix, access_token: text("access_token"), refresh_token: text("refresh_token") }
    }

    pub(crate) async fn refresh(&self) -> Answer {
        let form = format!("grant_type=refresh_token&client_id=demo&refresh_token={}", self.refresh_token);
        self.train.post(&format!("{}/oauth/token", self.prefix)).body(FORM, form).send().await
    }

    fn signed(&self, call: Call) -> Call {
        call.header("authorization", &format!("Bearer {}", self.access_token))
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.signed(self.train.get(&format!("{}{path}", self.prefix))).send().await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.signed(self.train.post(&format!("{}{path}", self.prefix))).json(body).send().await
    }

    /// The trips on a day.
    pub(crate) async fn trips(&self, day: &str) -> Answer {
        self.get(&format!("/trips?{ROUTE}&date={day}&limit=100")).await
    }

    /// Books the last trip of a day, perhaps with an `Idempotency-Key`, and gives the booking.
    pub(crate) async fn book(&self, day: &str, key: Option<&str>) -> Value {
        let trips = self.trips(day).await.has_status(200).json();
        let trip = &trips["data"].as_array().unwrap().last().unwrap()["id"];
        let call = self.signed(self.train.post(&format!("{}/bookings", self.prefix)));
        let call = key.into_iter().fold(call, |call, key| call.header("idempotency-key", key));
        let body = json!({"trip_id": trip, "passenger_name": "Ada", "has_bicycle": false, "has_dog": false});
        call.json(&body).send().await.has_status(201).json()
    }

    /// The status of a booking.
    pub(crate) async fn status(&self, booking: &Value) -> String {
        let path = format!("/bookings/{}", booking["id"].as_str().unwrap());
        self.get(&path).await.has_status(200).json()["status"].as_str().unwrap().to_owned()
    }
}

impl Process {
    /// Creates a sandbox whose clock is frozen at [`START`].
    pub(crate) async fn create_frozen(&self, name: &str) -> Value {
        let sandbox = self.create(name).await;
        self.clock(&sandbox, json!({"time": START, "frozen": true})).await;
        sandbox
    }

    /// Changes the clock of a sandbox.
    pub(crate) async fn clock(&self, sandbox: &Value, change: Value) {
        self.control("PATCH", sandbox, "/clock", Some(change)).await.has_status(200);
    }

    pub(crate) async fn advance(&self, sandbox: &Value, by: &str) {
        self.clock(sandbox, json!({"advance": by})).await;
    }
}
