//! Limits the calls an hour from one address without valid credentials: calls of operations that need none, calls of the
//! sign-in at `/oauth/`, and calls with credentials that are rejected.
//!
//! Each process counts its own calls, in memory: calls of unknown callers must not cause writes to the database.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Mutex, PoisonError},
};

use crate::{
    clock::Clock,
    network::network,
    problem::{Problem, Result, TOO_MANY_REQUESTS},
};

/// How many addresses are counted; calls from any other address are not limited.
const MOST_ADDRESSES: usize = 100_000;

const HOUR: i64 = 3600;

/// The limit on a service's calls without valid credentials.
pub(crate) struct Anonymous {
    limit: u32,
    clock: Clock,
    counts: Mutex<Counts>,
}

#[derive(Default)]
struct Counts {
    /// The hour of these counts, in hours since 1970.
    hour: i64,
    calls: HashMap<IpAddr, u32>,
}

impl Anonymous {
    pub(crate) fn new(limit: u32, clock: Clock) -> Self {
        Anonymous { limit, clock, counts: Mutex::default() }
    }

    /// Counts a call from an address; from this machine they are not counted.
    pub(crate) fn spend(&self, address: IpAddr) -> Result<()> {
        if address.to_canonical().is_loopback() {
            return Ok(());
        }
        let now = self.clock.now().as_second();
        let (hour, reset) = (now.div_euclid(HOUR), HOUR - now.rem_euclid(HOUR));
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if counts.hour != hour {
            *counts = Counts { hour, calls: HashMap::new() };
        }
        let address = network(address);
        if counts.calls.len() >= MOST_ADDRESSES && !counts.calls.contains_key(&address) {
            return Ok(());
        }
        let calls = counts.calls.entry(address).or_default();
        let limit = self.limit;
        if *calls >= limit {
            let detail = format!(
                "This address may make {limit} calls an hour without valid credentials or to operations that need none, and \
                 has. The next hour starts in {reset} seconds."
            );
            return Err(Problem::new(&TOO_MANY_REQUESTS, detail).retry_after(reset.unsigned_abs()));
        }
        *calls += 1;
        Ok(())
    }
}
