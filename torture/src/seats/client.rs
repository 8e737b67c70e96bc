//! Clients that compete for the seats of one trip, and record each request with its answer.

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use jiff::Timestamp;
use rand::{RngExt, rngs::StdRng};
use serde_json::{Value, json};
use testkit::{Call, Client as Http};

use super::history::{Answer, Booking, Operation, Status};
use crate::load::{card, conflict};

/// How many bookings of a trip are kept at hand: more than it has seats. The oldest is cancelled when there are more.
const AT_HAND: usize = 30;

/// A trip that clients compete for.
pub(super) struct Trip {
    pub(super) id: String,
    pub(super) seats: i64,
    /// The Authorization header of the owner of all its bookings.
    pub(super) authorization: String,
    bookings: Mutex<Bookings>,
}

#[derive(Default)]
struct Bookings {
    numbers: HashMap<String, Booking>,
    /// Bookings that all clients of the trip pay, cancel and look at.
    at_hand: VecDeque<String>,
}

impl Trip {
    pub(super) fn new(id: String, seats: i64, authorization: String) -> Self {
        Trip { id, seats, authorization, bookings: Mutex::default() }
    }

    /// Adds a booking to those at hand, and gives its number.
    fn add(&self, id: &str) -> Booking {
        let mut bookings = self.bookings.lock().expect("no panic");
        let number = u32::try_from(bookings.numbers.len()).expect("few bookings");
        bookings.numbers.insert(id.to_owned(), number);
        bookings.at_hand.push_back(id.to_owned());
        number
    }

    fn number(&self, id: &str) -> Booking {
        self.bookings.lock().expect("no panic").numbers[id]
    }
}

/// What a client leaves behind.
#[derive(Default)]
pub(super) struct Notes {
    pub(super) history: Vec<Operation>,
    /// Requests without an answer, or with one that does not say whether it was done.
    pub(super) unknown: Vec<String>,
    pub(super) violations: Vec<String>,
}

pub(super) struct Client {
    pub(super) trip: Arc<Trip>,
    /// The train service of each process. A request goes to any of them.
    pub(super) processes: Arc<Vec<Http>>,
    pub(super) random: StdRng,
    /// How many requests are left for all clients.
    pub(super) left: Arc<AtomicUsize>,
    pub(super) deadline: Instant,
    /// The same for no other client.
    pub(super) name: String,
    /// How many requests it has sent.
    pub(super) sent: usize,
    pub(super) notes: Notes,
}

impl Client {
    /// Works until no request or no time is left.
    pub(super) async fn run(mut self) -> Notes {
        let take = |left: usize| left.checked_sub(1);
        while Instant::now() < self.deadline
            && self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok()
        {
            match self.random.random_range(0..100) {
                0..35 => self.hold().await,
                35..55 => self.pay().await,
                55..68 => {
                    let booking = self.choose();
                    self.cancel(booking).await;
                }
                68..82 => self.look().await,
                _ => self.count().await,
            }
        }
        self.notes
    }

    async fn hold(&mut self) {
        let name = format!("{}-{}", self.name, self.sent);
        let body = json!({"trip_id": self.trip.id, "passenger_name": name});
        let trip = self.trip.clone();
        self.send("POST", "/bookings", Some(&body), |status, answer| {
            match (status, conflict(answer).as_str()) {
                (201, _) => {
                    let until: Timestamp = answer["expires_at"].as_str()?.parse().ok()?;
                    let booking = trip.add(answer["id"].as_str()?);
                    Some(Answer::Held { booking, until: until.as_microsecond() })
                }
                (409, "sold-out") => Some(Answer::SoldOut),
                _ => None,
            }
        })
        .await;
        let oldest = {
            let at_hand = &mut self.trip.bookings.lock().expect("no panic").at_hand;
            if at_hand.len() > AT_HAND { at_hand.pop_front() } else { None }
        };
        if oldest.is_some() {
            self.cancel(oldest).await;
        }
    }

    async fn pay(&mut self) {
        let Some(id) = self.choose() else { return };
        let number = if self.random.random_bool(0.8) { "4242424242424242" } else { "4000000000000002" };
        let body = json!({"source": card(number)});
        let booking = self.trip.number(&id);
        self.send("POST", &format!("/bookings/{id}/payment"), Some(&body), |status, answer| {
            match (status, answer["status"].as_str(), conflict(answer).as_str()) {
                (200, Some("succeeded"), _) => Some(Answer::Paid(booking)),
                (200, Some("failed"), _) => Some(Answer::Declined(booking)),
                (404, ..) => Some(Answer::Unknown(booking)),
                (409, _, "already-paid") => Some(Answer::AlreadyPaid(booking)),
                (409, _, "booking-expired") => Some(Answer::TooLate(booking)),
                _ => None,
            }
        })
        .await;
    }

    async fn cancel(&mut self, booking: Option<String>) {
        let Some(id) = booking else { return };
        self.trip.bookings.lock().expect("no panic").at_hand.retain(|at_hand| *at_hand != id);
        let booking = self.trip.number(&id);
        self.send("DELETE", &format!("/bookings/{id}"), None, |status, _| match status {
            204 => Some(Answer::Cancelled(booking)),
            404 => Some(Answer::Unknown(booking)),
            _ => None,
        })
        .await;
    }

    async fn look(&mut self) {
        let Some(id) = self.choose() else { return };
        let booking = self.trip.number(&id);
        self.send("GET", &format!("/bookings/{id}"), None, |status, answer| {
            match (status, answer["status"].as_str()) {
                (200, Some("held")) => Some(Answer::Is(booking, Status::Held)),
                (200, Some("confirmed")) => Some(Answer::Is(booking, Status::Confirmed)),
                (200, Some("expired")) => Some(Answer::Is(booking, Status::Expired)),
                (404, _) => Some(Answer::Unknown(booking)),
                _ => None,
            }
        })
        .await;
    }

    async fn count(&mut self) {
        let path = format!("/trips/{}", self.trip.id);
        self.send("GET", &path, None, |status, answer| match status {
            200 => answer["seats_available"].as_i64().map(Answer::Free),
            _ => None,
        })
        .await;
    }

    /// Mostly one of the last few, so that several clients choose the same.
    fn choose(&mut self) -> Option<String> {
        let back = if self.random.random_bool(0.3) { AT_HAND } else { 6 };
        let at_hand = &self.trip.bookings.lock().expect("no panic").at_hand;
        let back = back.min(at_hand.len());
        (back > 0).then(|| at_hand[at_hand.len() - 1 - self.random.random_range(0..back)].clone())
    }

    /// Sends a request, one of ten POSTs at once to two processes with the same key, and records what its answer means.
    async fn send(
        &mut self,
        method: &str,
        path: &str,
        body: Option<&Value>,
        meaning: impl Fn(u16, &Value) -> Option<Answer>,
    ) {
        self.sent += 1;
        let twice = method == "POST" && self.random.random_bool(0.1);
        let key = twice.then(|| format!("{}-{}", self.name, self.sent));
        let first = self.random.random_range(0..self.processes.len());
        let second = (first + 1) % self.processes.len();
        let call = |process| answer(self.call(process, method, path, body, key.as_deref()));
        let start = now();
        let (one, other) = match twice {
            true => tokio::join!(call(first), call(second)),
            false => (call(first).await, None),
        };
        // A microsecond that has begun counts.
        let end = now() + 1;
        let is_answer =
            |answer: &(u16, Value)| answer.0 < 500 && conflict(&answer.1) != "idempotency-key-in-use";
        let (one, other) = (one.filter(is_answer), other.filter(is_answer));
        if let (Some(one), Some(other)) = (&one, &other)
            && one != other
        {
            self.notes
                .violations
                .push(format!("{method} {path} twice with the key {key:?}: {one:?} and {other:?}"));
        }
        let Some((status, body)) = one.or(other) else {
            self.notes.unknown.push(format!("{method} {path}"));
            return;
        };
        // Another payment for the booking is open: nothing was done.
        if conflict(&body) == "payment-under-way" {
            return;
        }
        match meaning(status, &body) {
            Some(answer) => self.notes.history.push(Operation { start, end, answer }),
            None => self.notes.violations.push(format!("{method} {path}: {status} {body}")),
        }
    }

    fn call(
        &self,
        process: usize,
        method: &str,
        path: &str,
        body: Option<&Value>,
        key: Option<&str>,
    ) -> Call {
        let http = &self.processes[process];
        let call = match method {
            "POST" => http.post(path),
            "DELETE" => http.delete(path),
            _ => http.get(path),
        };
        let call = call.header("authorization", &self.trip.authorization);
        let call = key.into_iter().fold(call, |call, key| call.header("idempotency-key", key));
        body.into_iter().fold(call, |call, body| call.json(body))
    }
}

/// The status and the body of an answer, if there is one.
async fn answer(call: Call) -> Option<(u16, Value)> {
    let answer = call.try_send().await.ok()?;
    let mut body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    if let Some(members) = body.as_object_mut() {
        // The id of the request.
        members.remove("instance");
    }
    Some((answer.status, body))
}

/// Microseconds by the clock of the machine, which the program has too.
fn now() -> i64 {
    #[expect(clippy::disallowed_methods, reason = "holds expire by the clock of the machine")]
    Timestamp::now().as_microsecond()
}
