//! Permits for attempts in flight: for each subscription, for each owner and in all.

use std::{collections::HashMap, sync::Arc};

use jiff::Timestamp;
use uuid::Uuid;

use crate::{
    attempt::SLOW,
    store::{Grant, Ready, Subscriber},
};

const MOST: usize = 64;
const MOST_PER_OWNER: usize = 16;
const MOST_PER_SUBSCRIPTION: usize = 4;

/// For all slow subscriptions together, and for each of them.
const MOST_SLOW: usize = MOST / 2;
const MOST_PER_SLOW_SUBSCRIPTION: usize = 1;

/// The most attempts in flight, including those that have released their permits.
const MOST_IN_FLIGHT: usize = 256;

/// An attempt in flight.
pub(crate) struct InFlight {
    pub(crate) subscriber: Arc<Subscriber>,
    pub(crate) slow: bool,
    /// By the machine's clock.
    pub(crate) since: Timestamp,
}

impl InFlight {
    /// When the attempt releases its permit, if it has not ended by then. An attempt of a slow subscription keeps it.
    pub(crate) fn releases_at(&self) -> Option<Timestamp> {
        (!self.slow).then(|| self.since + SLOW)
    }
}

/// The free permits.
pub(crate) struct Permits {
    free: usize,
    free_slow: usize,
    in_flight: usize,
    by_subscription: HashMap<Uuid, usize>,
    by_owner: HashMap<String, usize>,
}

impl Permits {
    pub(crate) fn new<'a>(in_flight: impl Iterator<Item = &'a InFlight>, now: Timestamp) -> Self {
        let (mut count, mut with_permit, mut slow) = (0, 0, 0);
        let (mut by_subscription, mut by_owner) = (HashMap::new(), HashMap::new());
        for attempt in in_flight {
            count += 1;
            with_permit += usize::from(attempt.releases_at().is_none_or(|at| at > now));
            slow += usize::from(attempt.slow);
            *by_subscription.entry(attempt.subscriber.id).or_default() += 1;
            *by_owner.entry(attempt.subscriber.owner.clone()).or_default() += 1;
        }
        let free = MOST.saturating_sub(with_permit).min(MOST_IN_FLIGHT.saturating_sub(count));
        Permits {
            free,
            free_slow: MOST_SLOW.saturating_sub(slow),
            in_flight: count,
            by_subscription,
            by_owner,
        }
    }

    pub(crate) fn free(&self, slow: bool) -> usize {
        if slow { self.free.min(self.free_slow) } else { self.free }
    }

    /// How many ready subscriptions to read, so that some of them can get a permit. Those that cannot have attempts in
    /// flight, or their owner has, with at most 20 subscriptions for each 16 attempts.
    pub(crate) fn most_read(&self, slow: bool) -> usize {
        self.free(slow) + 2 * self.in_flight
    }

    /// Grants a subscription as many of the free permits as it may have.
    pub(crate) fn grant(&mut self, ready: &Ready, slow: bool) -> Grant {
        let free = self.free(slow);
        let most = if slow { MOST_PER_SLOW_SUBSCRIPTION } else { MOST_PER_SUBSCRIPTION };
        let of_subscription = self.by_subscription.entry(ready.subscription).or_default();
        // A deleted subscription has no owner, and nothing is sent.
        let of_owner = self.by_owner.entry(ready.owner.clone().unwrap_or_default()).or_default();
        let permits =
            most.saturating_sub(*of_subscription).min(MOST_PER_OWNER.saturating_sub(*of_owner)).min(free);
        *of_subscription += permits;
        *of_owner += permits;
        self.free -= permits;
        self.free_slow -= if slow { permits } else { 0 };
        Grant { permits, slow }
    }
}
