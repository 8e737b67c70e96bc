//! Background work: expired holds release their seats, payments are settled, expired inboxes are deleted, webhooks are sent.

use std::future::pending;

use jiff::{SignedDuration, Timestamp};

use crate::{
    Train, inbox,
    payment::{self, settle::SettleError, store::Now},
    trip,
};

/// The longest time between two sweeps. No request waits for one, since a booking that needs a seat takes it from an expired
/// hold.
const AT_LEAST_EVERY: SignedDuration = SignedDuration::from_secs(30);

/// How long to wait after an error.
const RETRY_AFTER: SignedDuration = SignedDuration::from_secs(1);

/// How many holds are read at once.
const BATCH: i64 = 500;

impl Train {
    /// Runs until shutdown; webhooks that are being sent then may still arrive.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let webhooks = |stop| self.webhooks.clone().run(stop);
        // Holds and payments can stop anywhere: the next process continues them.
        tokio::select! {
            () = self.background.keep("webhooks", stop, webhooks) => {}
            () = self.background.keep("sweeper", pending(), |_| self.do_due_work_forever()) => {}
        }
    }

    async fn do_due_work_forever(&self) {
        let machine = self.clock.of_machine();
        loop {
            // Read before the work: the next sweep finds the work that becomes due during this one.
            let began = self.lease_now();
            match self.do_due_work().await {
                Ok(()) => {
                    let until = self.next_sweep(began).await;
                    tokio::select! {
                        () = self.clock.wait_until(until.service) => {}
                        () = machine.wait_until(until.machine) => {}
                        () = self.woken.notified() => {}
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "expired holds or open payments could not be settled; trying again");
                    // By the machine: the service's clock may be frozen.
                    machine.wait_until(machine.now() + RETRY_AFTER).await;
                }
            }
        }
    }

    /// Does all the work that is due now, once. [`Train::run`] repeats this; tests call it after they set the clock.
    pub async fn do_due_work(&self) -> Result<(), SettleError> {
        self.sweep().await?;
        self.delete_expired_inboxes().await?;
        self.settle_due().await
    }

    /// Wakes the sweeper.
    pub(crate) fn wake(&self) {
        self.woken.notify_one();
    }

    async fn sweep(&self) -> Result<(), db::Error> {
        loop {
            let now = self.clock.now();
            let trips = self.db.read(move |tx| trip::store::due(tx, now, BATCH)).await?;
            if trips.is_empty() {
                return Ok(());
            }
            self.expire(trips, now).await?;
        }
    }

    async fn delete_expired_inboxes(&self) -> Result<(), db::Error> {
        let now = self.clock.now();
        while self.db.read(move |tx| inbox::store::has_expired(tx, now)).await? {
            self.db.write(move |tx| inbox::store::delete_expired(tx, now)).await?;
        }
        Ok(())
    }

    async fn next_sweep(&self, began: Now) -> Now {
        let (due, lease) = self.db.read(payment::store::upcoming).await.unwrap_or_default();
        let earlier = |next: Option<Timestamp>, began: Timestamp| {
            let latest = began + AT_LEAST_EVERY;
            next.map_or(latest, |next| next.min(latest))
        };
        Now { service: earlier(due, began.service), machine: earlier(lease, began.machine) }
    }
}
