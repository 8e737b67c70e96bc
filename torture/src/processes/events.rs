//! The webhook subscription of the demo user, and the events that reach it.

use std::{
    collections::{HashMap, HashSet},
    time::{Duration, Instant},
};

use serde_json::json;
use testkit::{Client, receiver::Receiver};
use tokio::time::interval;

use crate::load::{BASIC, text};

const NAME: &str = "hooks";

pub(super) struct Events(Receiver);

/// Each booking with the ids of its events.
type Delivered = HashMap<String, HashSet<String>>;

impl Events {
    pub(super) async fn subscribe(train: &Client) -> Self {
        let receiver = Receiver::start().await;
        let body = json!({"url": receiver.url(NAME).as_str()});
        let subscribed = train.post("/webhooks").header("authorization", BASIC).json(&body).send().await;
        subscribed.has_status(201);
        Events(receiver)
    }

    pub(super) fn deliveries(&self) -> usize {
        self.0.count(NAME)
    }

    fn delivered(&self) -> Delivered {
        let mut delivered = Delivered::new();
        for got in self.0.got(NAME) {
            let booking: serde_json::Value = serde_json::from_slice(&got.body).unwrap_or_default();
            delivered.entry(text(&booking["id"])).or_default().insert(got.id().to_owned());
        }
        delivered
    }

    /// Waits until each of these bookings has its event, and gives the number of events and what is wrong with them.
    pub(super) async fn check(&self, bookings: &HashSet<String>, patience: Duration) -> (usize, Vec<String>) {
        let start = Instant::now();
        let mut pause = interval(Duration::from_millis(100));
        let delivered = loop {
            let delivered = self.delivered();
            let is_complete = bookings.iter().all(|booking| delivered.contains_key(booking));
            if is_complete || start.elapsed() > patience {
                break delivered;
            }
            pause.tick().await;
        };
        let mut wrong = Vec::new();
        for booking in bookings.iter().filter(|booking| !delivered.contains_key(*booking)) {
            wrong.push(format!("the event of booking {booking} was not delivered within {patience:?}"));
        }
        for (booking, events) in &delivered {
            if events.len() != 1 {
                wrong.push(format!("booking {booking} has the events {events:?}"));
            }
            if !bookings.contains(booking) {
                wrong.push(format!("there was an event of booking {booking}, which does not exist"));
            }
        }
        (delivered.len(), wrong)
    }
}
