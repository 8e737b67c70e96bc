//! What clients write, and what the answers promise.

use rand::RngExt;
use serde_json::json;

use super::{
    promise::Promise,
    writer::{Broken, Writer},
};
use crate::installation::Service;

impl Writer {
    pub(super) async fn pet(&mut self, number: usize) -> Result<(), Broken> {
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
            let call = self.delete(&path);
            self.change(call, 200, None, format!("DELETE {path}")).await?;
        }
        Ok(())
    }

    pub(super) async fn order(&mut self) -> Result<(), Broken> {
        let body = json!({"petId": 1, "quantity": self.random.random_range(1..100)});
        let call = self.anonymous("/v3/store/order").json(&body);
        let order = self.send(call, 200).await?.json();
        self.promise(
            &format!("/v3/store/order/{}", order["id"]),
            Some(order),
            format!("POST /v3/store/order {body}"),
        );
        Ok(())
    }

    /// Two users in one request: both are stored, or none.
    pub(super) async fn users(&mut self, number: usize) -> Result<(), Broken> {
        let names = ["first", "second"].map(|which| format!("{}-{number}-{which}", self.name));
        let users =
            names.each_ref().map(|name| json!({"username": name, "firstName": "Ada", "password": "12345"}));
        let stored = names.each_ref().map(|name| Some(json!({"username": name, "firstName": "Ada"})));
        let call = self.anonymous("/v3/user/createWithList").json(&json!(users));
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

    pub(super) async fn event(&mut self, number: usize) -> Result<(), Broken> {
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
            let call = self.patch(&path).json(&changes);
            self.change(call, 200, Some(changed), format!("PATCH {path} {changes}")).await?;
        }
        if self.random.random_bool(0.2) {
            let call = self.delete(&path);
            self.change(call, 204, None, format!("DELETE {path}")).await?;
        }
        Ok(())
    }

    pub(super) async fn ticket(&mut self) -> Result<(), Broken> {
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
    pub(super) async fn booking(&mut self, number: usize) -> Result<(), Broken> {
        let trip = self.trips[self.random.random_range(0..self.trips.len())].clone();
        let passenger = format!("{} {number}", self.name);
        let body = json!({"trip_id": trip, "passenger_name": passenger});
        let held = match self.keyed("/bookings", body, format!("{passenger} books"), 201).await? {
            Ok(held) => held,
            Err(conflict) if conflict == "sold-out" => return Ok(()),
            Err(conflict) => {
                self.notes.violations.push(format!("POST /bookings of {passenger}: {conflict}"));
                return Ok(());
            }
        };
        let path = format!("/bookings/{}", held["id"].as_str().unwrap_or_default());
        self.promise(&path, Some(held.clone()), format!("POST /bookings of {passenger}"));
        let state = |status: &str| {
            Some(json!({"id": held["id"], "trip_id": trip, "passenger_name": passenger, "status": status}))
        };
        let cards = ["4242424242424242", "4242424242424242", "4000000000000002", "4000000000000077"];
        let card = cards[self.random.random_range(0..cards.len())];
        let source = super::card(card);
        self.allow(state("confirmed"), format!("POST {path}/payment with card {card}"));
        let (pays, paid) = (format!("{path}/payment"), format!("{passenger} pays"));
        let payment = match self.keyed(&pays, json!({"source": source}), paid, 200).await? {
            Ok(payment) => payment,
            Err(conflict) => {
                self.not_done();
                // The clock of another process may be ahead.
                if self.stopped.is_none() || conflict != "booking-expired" {
                    self.notes.violations.push(format!("POST {pays}: {conflict}"));
                }
                return Ok(());
            }
        };
        match payment["status"].as_str() {
            Some("succeeded") => self.done(),
            Some("failed") => self.not_done(),
            // It is decided later.
            _ => {}
        }
        if self.random.random_bool(0.2) {
            let call = self.delete(&path);
            self.change(call, 204, None, format!("DELETE {path}")).await?;
        }
        Ok(())
    }
}
