//! Clients that compete for seats. Each records its requests and their responses.
//!
//! On a machine that is busy with other things the service may be too, and say so (503). Nothing has happened then, but for
//! payments, of which nothing is known; so there is nothing to write down.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use uuid::Uuid;
use web::Clock;

use super::{
    history::{Event, Record},
    process::{Answer, Call, HOLD, Process, Users, delete, get, post},
};

/// How many bookings of a user's are kept at hand; the oldest is cancelled when there are more.
const AT_HAND: usize = 40;

/// How often the clock moves by a day: the trips depart after 86.
const DAYS: u64 = 40;

/// What all clients share.
pub(crate) struct Load {
    pub(crate) processes: Vec<Process>,
    pub(crate) users: Users,
    pub(crate) clock: Clock,
    pub(crate) trips: Vec<Uuid>,
    /// Bookings that clients of the same user pay, cancel and look at, whichever of them made the booking.
    pub(crate) at_hand: Vec<Mutex<VecDeque<Uuid>>>,
    /// Orders what happens: of two events, the one with the smaller number came first.
    ticks: AtomicU64,
    operations: AtomicU64,
    days: AtomicU64,
    moving: tokio::sync::Mutex<()>,
    /// Clients that send a request twice share it: after a day, the stored answer is deleted and cannot be repeated.
    kept: tokio::sync::RwLock<()>,
}

pub(crate) struct Client {
    load: Arc<Load>,
    process: usize,
    user: usize,
    random: SeededRandom,
    keys: u64,
    number: usize,
    records: Vec<Record>,
}

/// Random that a failing run can be repeated with.
pub(crate) struct SeededRandom(u64);

impl SeededRandom {
    pub(crate) fn new(seed: u64) -> Self {
        SeededRandom((seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from((self.0 >> 16) % end as u64).unwrap()
    }
}

impl Load {
    pub(crate) fn new(
        processes: Vec<Process>,
        users: Users,
        number: usize,
        clock: Clock,
        trips: Vec<Uuid>,
    ) -> Self {
        Load {
            processes,
            users,
            clock,
            trips,
            at_hand: (0..number).map(|_| Mutex::default()).collect(),
            ticks: AtomicU64::new(0),
            operations: AtomicU64::new(0),
            days: AtomicU64::new(0),
            moving: tokio::sync::Mutex::default(),
            kept: tokio::sync::RwLock::default(),
        }
    }

    pub(crate) fn tick(&self) -> u64 {
        self.ticks.fetch_add(1, Ordering::SeqCst)
    }

    /// Calls again when the token has expired: another client may move the clock at any time.
    async fn call(&self, process: usize, user: usize, call: Call<'_>) -> Answer {
        loop {
            let answer = self.processes[process].call(&self.users.token(user), call).await;
            if answer.status != 401 {
                return answer;
            }
            // The client that moves the clock renews the tokens; wait until it has.
            drop(self.moving.lock().await);
        }
    }
}

impl Client {
    pub(crate) fn new(load: &Arc<Load>, number: usize) -> Self {
        Client {
            process: number % load.processes.len(),
            user: number % load.at_hand.len(),
            load: load.clone(),
            random: SeededRandom::new(number as u64),
            keys: 0,
            number,
            records: Vec::new(),
        }
    }

    /// Works until all clients together have made this number of operations.
    pub(crate) async fn work(mut self, operations: u64) -> Vec<Record> {
        while self.load.operations.fetch_add(1, Ordering::Relaxed) < operations {
            let start = self.load.tick();
            let event = match self.random.below(1000) {
                0..10 => self.move_clock().await,
                10..350 => self.book().await,
                350..550 => self.pay().await,
                550..700 => self.cancel().await,
                700..820 => self.look().await,
                _ => self.count_seats().await,
            };
            let end = self.load.tick();
            self.records.extend(event.map(|event| Record { start, end, event }));
        }
        self.records
    }

    async fn move_clock(&mut self) -> Option<Event> {
        // Past what is pending, past what a process is given to answer, past a hold; past what an answer is kept, too, now and
        // then.
        let hold = HOLD.as_secs() + 1;
        let a_day = self.random.below(50) == 0 && self.load.days.fetch_add(1, Ordering::Relaxed) < DAYS;
        let by = if a_day { 25 * 3600 } else { [6, 6, 61, hold][self.random.below(4)] };
        // Lock order: `kept`, then `moving`. A client that sends twice has `kept`, and may wait for `moving`.
        let _kept = if a_day { Some(self.load.kept.write().await) } else { None };
        let _moving = self.load.moving.lock().await;
        self.load.clock.advance(SignedDuration::from_secs(by));
        self.load.users.renew().await;
        Some(Event::MovedClock { to: self.load.clock.now() })
    }

    async fn book(&mut self) -> Option<Event> {
        let trip = self.load.trips[self.random.below(self.load.trips.len())];
        let body = json!({"trip_id": trip, "passenger_name": "Ada"});
        let answer = self.once_or_twice("/bookings", &body).await;
        match (answer.status, answer.problem) {
            (201, None) => {
                let booking = id(&answer.body["id"]);
                let expires_at: Timestamp = answer.body["expires_at"].as_str().unwrap().parse().unwrap();
                let oldest = {
                    let mut at_hand = self.load.at_hand[self.user].lock().unwrap();
                    at_hand.push_back(booking);
                    if at_hand.len() > AT_HAND { at_hand.pop_front() } else { None }
                };
                if let Some(oldest) = oldest {
                    let start = self.load.tick();
                    let event = self.cancel_this(oldest).await;
                    let end = self.load.tick();
                    self.records.extend(event.map(|event| Record { start, end, event }));
                }
                Some(Event::Booked { trip, booking, expires_at })
            }
            (409, Some("sold-out")) => Some(Event::FoundSoldOut { trip }),
            (503, _) => None,
            _ => panic!("booking: {answer:?}"),
        }
    }

    async fn pay(&mut self) -> Option<Event> {
        let booking = self.choose()?;
        let source = match self.random.below(10) {
            0..3 => card("4242424242424242"),
            3..5 => card("4000000000000002"),
            5 => card("4000000000009995"),
            6..9 => card("4000000000000077"),
            _ => json!({"object": "bank_account", "name": "Ada", "number": "00012345", "sort_code": "000123",
                "account_type": "individual", "bank_name": "Starling", "country": "gb"}),
        };
        let body = json!({"source": source});
        let answer = self.once_or_twice(&format!("/bookings/{booking}/payment"), &body).await;
        match (answer.status, answer.problem) {
            (200, None) => {
                let payment = id(&answer.body["id"]);
                let status = answer.body["status"].as_str().unwrap().to_owned();
                Some(Event::Paid { booking, payment, status })
            }
            (404, _) => Some(Event::FoundNothing { booking }),
            (409, Some("already-paid")) => Some(Event::Saw { booking, status: "confirmed".into() }),
            (409, Some("booking-expired" | "payment-under-way")) | (503, _) => None,
            _ => panic!("paying: {answer:?}"),
        }
    }

    async fn cancel(&mut self) -> Option<Event> {
        let booking = self.choose()?;
        self.cancel_this(booking).await
    }

    async fn cancel_this(&mut self, booking: Uuid) -> Option<Event> {
        self.load.at_hand[self.user].lock().unwrap().retain(|at_hand| *at_hand != booking);
        let answer = self.call(delete(&format!("/bookings/{booking}"))).await;
        match answer.status {
            204 => Some(Event::Cancelled { booking }),
            404 => Some(Event::FoundNothing { booking }),
            503 => None,
            _ => panic!("cancelling: {answer:?}"),
        }
    }

    async fn look(&mut self) -> Option<Event> {
        let booking = self.choose()?;
        let answer = self.call(get(&format!("/bookings/{booking}"))).await;
        match answer.status {
            200 => Some(Event::Saw { booking, status: answer.body["status"].as_str().unwrap().to_owned() }),
            404 => Some(Event::FoundNothing { booking }),
            503 => None,
            _ => panic!("looking: {answer:?}"),
        }
    }

    async fn count_seats(&mut self) -> Option<Event> {
        let trip = self.load.trips[self.random.below(self.load.trips.len())];
        let answer = self.call(get(&format!("/trips/{trip}"))).await;
        if answer.status == 503 {
            return None;
        }
        assert_eq!(answer.status, 200, "{answer:?}");
        Some(Event::Counted { trip, available: answer.body["seats_available"].as_i64().unwrap() })
    }

    /// Mostly one of the last few, so that several clients choose the same.
    fn choose(&mut self) -> Option<Uuid> {
        let back = if self.random.below(3) == 0 { AT_HAND } else { 6 };
        let at_hand = self.load.at_hand[self.user].lock().unwrap();
        let back = back.min(at_hand.len());
        (back > 0).then(|| at_hand[at_hand.len() - 1 - self.random.below(back)])
    }

    async fn call(&self, call: Call<'_>) -> Answer {
        self.load.call(self.process, self.user, call).await
    }

    /// Sends a request, now and then twice at once with the same key and to two processes: both get the same response.
    async fn once_or_twice(&mut self, path: &str, body: &Value) -> Answer {
        if self.random.below(10) > 0 {
            return self.call(post(path, body, None)).await;
        }
        self.keys += 1;
        let key = format!("{}-{}", self.number, self.keys);
        let call = post(path, body, Some(&key));
        let other = (self.process + 1) % self.load.processes.len();
        let _kept = self.load.kept.read().await;
        let (one, two) = tokio::join!(self.call(call), self.load.call(other, self.user, call));
        let unknown =
            |answer: &Answer| answer.status == 503 || answer.problem == Some("idempotency-key-in-use");
        match (unknown(&one), unknown(&two)) {
            (false, true) => one,
            (true, false) => two,
            (false, false) => {
                assert_eq!(one, two, "the same request had two answers");
                one
            }
            (true, true) if one.status == 503 => one,
            (true, true) if two.status == 503 => two,
            (true, true) => panic!("neither of two equal requests was answered"),
        }
    }
}

pub(crate) fn card(number: &str) -> Value {
    json!({"object": "card", "name": "Ada", "number": number, "cvc": "123", "exp_month": 12, "exp_year": 2099,
        "address_country": "gb"})
}

pub(crate) fn id(text: &Value) -> Uuid {
    text.as_str().unwrap().parse().unwrap()
}
