//! Clients that fight for seats, each keeping a record of what it did and what it was told.
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
    history::{Did, Record},
    process::{Answer, Call, HOLD, Process, Users, delete, get, post},
};

/// How many bookings of a user's are kept at hand; the oldest is cancelled when there are more.
const AT_HAND: usize = 40;

/// How often the clock moves by a day: the trips depart after 86.
const DAYS: u64 = 40;

/// What all clients share.
pub(crate) struct Fight {
    pub(crate) processes: Vec<Process>,
    pub(crate) users: Users,
    pub(crate) clock: Clock,
    pub(crate) trips: Vec<Uuid>,
    /// Bookings that clients of the same user pay, cancel and look at, whoever made them.
    pub(crate) at_hand: Vec<Mutex<VecDeque<Uuid>>>,
    /// Orders what happens: of two events, the one with the smaller number came first.
    ticks: AtomicU64,
    operations: AtomicU64,
    days: AtomicU64,
    moving: tokio::sync::Mutex<()>,
    /// Whoever sends the same request twice shares it: an answer that is no longer kept cannot be given again.
    kept: tokio::sync::RwLock<()>,
}

pub(crate) struct Client {
    fight: Arc<Fight>,
    process: usize,
    user: usize,
    dice: Dice,
    keys: u64,
    number: usize,
    records: Vec<Record>,
}

/// Random that a failing run can be repeated with.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Dice((seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from((self.0 >> 16) % end as u64).unwrap()
    }
}

impl Fight {
    pub(crate) fn new(
        processes: Vec<Process>,
        users: Users,
        number: usize,
        clock: Clock,
        trips: Vec<Uuid>,
    ) -> Self {
        Fight {
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

    /// Calls again when the token ran out on the way: the clock moves by itself here.
    async fn call(&self, process: usize, user: usize, call: Call<'_>) -> Answer {
        loop {
            let answer = self.processes[process].call(&self.users.token(user), call).await;
            if answer.status != 401 {
                return answer;
            }
            // Whoever moves the clock renews the tokens, and may be at it.
            drop(self.moving.lock().await);
        }
    }
}

impl Client {
    pub(crate) fn new(fight: &Arc<Fight>, number: usize) -> Self {
        Client {
            process: number % fight.processes.len(),
            user: number % fight.at_hand.len(),
            fight: fight.clone(),
            dice: Dice::new(number as u64),
            keys: 0,
            number,
            records: Vec::new(),
        }
    }

    /// Works until there have been so many operations of all clients together.
    pub(crate) async fn work(mut self, operations: u64) -> Vec<Record> {
        while self.fight.operations.fetch_add(1, Ordering::Relaxed) < operations {
            let start = self.fight.tick();
            let did = match self.dice.below(1000) {
                0..10 => self.move_clock().await,
                10..350 => self.book().await,
                350..550 => self.pay().await,
                550..700 => self.cancel().await,
                700..820 => self.look().await,
                _ => self.count_seats().await,
            };
            let end = self.fight.tick();
            self.records.extend(did.map(|did| Record { start, end, did }));
        }
        self.records
    }

    async fn move_clock(&mut self) -> Option<Did> {
        // Past what is pending, past what a process is given to answer, past a hold; past what an answer is kept, too, now and
        // then.
        let hold = HOLD.as_secs() + 1;
        let a_day = self.dice.below(50) == 0 && self.fight.days.fetch_add(1, Ordering::Relaxed) < DAYS;
        let by = if a_day { 25 * 3600 } else { [6, 6, 61, hold][self.dice.below(4)] };
        // First this and then the other: whoever sends twice may wait for the clock to have moved.
        let _kept = if a_day { Some(self.fight.kept.write().await) } else { None };
        let _moving = self.fight.moving.lock().await;
        self.fight.clock.advance(SignedDuration::from_secs(by));
        self.fight.users.renew().await;
        Some(Did::MovedClock { to: self.fight.clock.now() })
    }

    async fn book(&mut self) -> Option<Did> {
        let trip = self.fight.trips[self.dice.below(self.fight.trips.len())];
        let body = json!({"trip_id": trip, "passenger_name": "Ada"});
        let answer = self.once_or_twice("/bookings", &body).await;
        match (answer.status, answer.problem) {
            (201, None) => {
                let booking = id(&answer.body["id"]);
                let expires_at: Timestamp = answer.body["expires_at"].as_str().unwrap().parse().unwrap();
                let oldest = {
                    let mut at_hand = self.fight.at_hand[self.user].lock().unwrap();
                    at_hand.push_back(booking);
                    if at_hand.len() > AT_HAND { at_hand.pop_front() } else { None }
                };
                if let Some(oldest) = oldest {
                    let start = self.fight.tick();
                    let did = self.cancel_this(oldest).await;
                    let end = self.fight.tick();
                    self.records.extend(did.map(|did| Record { start, end, did }));
                }
                Some(Did::Booked { trip, booking, expires_at })
            }
            (409, Some("sold-out")) => Some(Did::FoundSoldOut { trip }),
            (503, _) => None,
            _ => panic!("booking: {answer:?}"),
        }
    }

    async fn pay(&mut self) -> Option<Did> {
        let booking = self.choose()?;
        let source = match self.dice.below(10) {
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
                Some(Did::Paid { booking, payment, status })
            }
            (404, _) => Some(Did::FoundNothing { booking }),
            (409, Some("already-paid")) => Some(Did::Saw { booking, status: "confirmed".into() }),
            (409, Some("booking-expired" | "payment-under-way")) | (503, _) => None,
            _ => panic!("paying: {answer:?}"),
        }
    }

    async fn cancel(&mut self) -> Option<Did> {
        let booking = self.choose()?;
        self.cancel_this(booking).await
    }

    async fn cancel_this(&mut self, booking: Uuid) -> Option<Did> {
        self.fight.at_hand[self.user].lock().unwrap().retain(|at_hand| *at_hand != booking);
        let answer = self.call(delete(&format!("/bookings/{booking}"))).await;
        match answer.status {
            204 => Some(Did::Cancelled { booking }),
            404 => Some(Did::FoundNothing { booking }),
            503 => None,
            _ => panic!("cancelling: {answer:?}"),
        }
    }

    async fn look(&mut self) -> Option<Did> {
        let booking = self.choose()?;
        let answer = self.call(get(&format!("/bookings/{booking}"))).await;
        match answer.status {
            200 => Some(Did::Saw { booking, status: answer.body["status"].as_str().unwrap().to_owned() }),
            404 => Some(Did::FoundNothing { booking }),
            503 => None,
            _ => panic!("looking: {answer:?}"),
        }
    }

    async fn count_seats(&mut self) -> Option<Did> {
        let trip = self.fight.trips[self.dice.below(self.fight.trips.len())];
        let answer = self.call(get(&format!("/trips/{trip}"))).await;
        if answer.status == 503 {
            return None;
        }
        assert_eq!(answer.status, 200, "{answer:?}");
        Some(Did::Counted { trip, available: answer.body["seats_available"].as_i64().unwrap() })
    }

    /// Mostly one of the last few, so that several clients choose the same.
    fn choose(&mut self) -> Option<Uuid> {
        let back = if self.dice.below(3) == 0 { AT_HAND } else { 6 };
        let at_hand = self.fight.at_hand[self.user].lock().unwrap();
        let back = back.min(at_hand.len());
        (back > 0).then(|| at_hand[at_hand.len() - 1 - self.dice.below(back)])
    }

    async fn call(&self, call: Call<'_>) -> Answer {
        self.fight.call(self.process, self.user, call).await
    }

    /// Sends a request, now and then twice at once with the same key and to two processes: both must be told the same.
    async fn once_or_twice(&mut self, path: &str, body: &Value) -> Answer {
        if self.dice.below(10) > 0 {
            return self.call(post(path, body, None)).await;
        }
        self.keys += 1;
        let key = format!("{}-{}", self.number, self.keys);
        let call = post(path, body, Some(&key));
        let other = (self.process + 1) % self.fight.processes.len();
        let _kept = self.fight.kept.read().await;
        let (one, two) = tokio::join!(self.call(call), self.fight.call(other, self.user, call));
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
            (true, true) => panic!("nobody answered a request that was sent twice"),
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
