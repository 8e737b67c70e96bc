//! Sends what is ready, in turns: whoever has something gets their places before anybody gets more.
//!
//! There are two lanes. Subscriptions whose last attempt failed or took long share half of all places and have one each, so
//! that they leave room for the others, however many they are; whoever answers at once again is among the others again.
//! One transaction writes down what has ended and takes on what begins, as much of it as there is by then.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    time::Duration,
};

use db::{Error, WriteTx};
use jiff::{SignedDuration, Timestamp};
use tokio::{
    task::{Id, JoinError, JoinSet},
    time::Instant,
};
use uuid::Uuid;

use crate::{
    Webhooks,
    attempt::LEASE,
    store::{self, Done, Letter, Next},
};

/// How many attempts are made at once, for one subscription and in all.
const AT_ONCE_EACH: usize = 4;
const AT_ONCE: usize = 64;

/// The same for slow ones.
const AT_ONCE_EACH_SLOW: usize = 1;
const AT_ONCE_SLOW: usize = AT_ONCE / 2;

/// How often to look for what waits, at the least: other processes may have left it.
const AT_LEAST_EVERY: SignedDuration = SignedDuration::from_secs(5);

/// How long to wait when something went wrong.
const AFTER_A_FAILURE: SignedDuration = SignedDuration::from_secs(1);

/// How long a turn lasts at the least: what comes at almost the same time shares a transaction. Whoever comes after a while of
/// nothing does not wait.
const PAUSE: Duration = Duration::from_millis(5);

/// How long attempts that are under way may take when it is to stop.
const LAST_ONES: Duration = Duration::from_secs(5);

/// How many subscriptions a lane holds at the most.
const LANE: usize = 1000;

/// Those of one kind who have something ready, in the order of their turns. They have all had one before it is filled again.
struct Lane {
    slow: bool,
    turns: VecDeque<Uuid>,
    /// Where the search goes on, if there were more.
    after: Uuid,
}

/// What somebody gets in a turn.
#[derive(Clone, Copy)]
pub(crate) struct Turn {
    pub(crate) places: usize,
    slow: bool,
}

/// Whom an attempt that is under way is for.
struct UnderWay {
    subscription: Uuid,
    slow: bool,
}

pub(crate) struct Sender {
    webhooks: Webhooks,
    sending: JoinSet<Option<Done>>,
    under_way: HashMap<Id, UnderWay>,
    /// What has ended and is not written down yet.
    done: Vec<Done>,
    lanes: [Lane; 2],
    /// When to look for what waits.
    look_at: Timestamp,
}

impl Sender {
    pub(crate) fn new(webhooks: Webhooks) -> Self {
        let lane = |slow| Lane { slow, turns: VecDeque::new(), after: Uuid::nil() };
        Sender {
            look_at: webhooks.0.clock.now(),
            webhooks,
            sending: JoinSet::new(),
            under_way: HashMap::new(),
            done: Vec::new(),
            // The slow ones come first: they never get more than half.
            lanes: [lane(true), lane(false)],
        }
    }

    pub(crate) async fn run(mut self, stop: impl Future<Output = ()>) {
        let mut stop = std::pin::pin!(stop);
        loop {
            let next_turn = Instant::now() + PAUSE;
            if let Err(error) = self.turn().await {
                tracing::warn!(%error, "webhooks could not be sent; trying again");
                let until = self.webhooks.0.clock.now() + AFTER_A_FAILURE;
                tokio::select! {
                    biased;
                    () = &mut stop => break,
                    () = self.webhooks.0.clock.wait_until(until) => continue,
                }
            }
            tokio::select! {
                biased;
                () = &mut stop => break,
                () = self.webhooks.0.clock.wait_until(self.look_at) => {}
                () = self.webhooks.0.woken.notified() => {}
                Some(ended) = self.sending.join_next_with_id() => self.ended(ended),
            }
            tokio::time::sleep_until(next_turn).await;
            while let Some(ended) = self.sending.try_join_next_with_id() {
                self.ended(ended);
            }
        }
        self.finish().await;
    }

    /// Waits for what is under way, though not for long, and takes on nothing more.
    async fn finish(mut self) {
        let all = async {
            while let Some(ended) = self.sending.join_next_with_id().await {
                self.ended(ended);
            }
        };
        let _ = tokio::time::timeout(LAST_ONES, all).await;
        if let Err(error) = self.write(&BTreeMap::new()).await {
            tracing::warn!(%error, "the last attempts to deliver webhooks could not be written down");
        }
    }

    fn ended(&mut self, ended: Result<(Id, Option<Done>), JoinError>) {
        let (id, done) = ended.unwrap_or_else(|failed| (failed.id(), None));
        self.under_way.remove(&id);
        self.done.extend(done);
    }

    async fn turn(&mut self) -> Result<(), Error> {
        let now = self.webhooks.0.clock.now();
        // Somebody may have set the clock back.
        if now >= self.look_at || now + AT_LEAST_EVERY < self.look_at {
            self.look(now).await?;
        }
        self.fill_lanes().await?;
        let turns = self.share_out();
        let letters = self.write(&turns).await?;
        if letters.is_empty() && !turns.is_empty() {
            // Others were faster, or nobody wants it any more; there may be more of that.
            self.look_at = self.webhooks.0.clock.now();
        }
        for letter in letters {
            let slow = turns.get(&letter.claimed.subscription).is_some_and(|turn| turn.slow);
            self.begin(letter, slow);
        }
        Ok(())
    }

    /// Makes ready what has waited long enough, and removes what is old.
    async fn look(&mut self, now: Timestamp) -> Result<(), Error> {
        let db = &self.webhooks.0.db;
        let next = db.read(store::next_due).await?;
        let mut look_at = next.map_or(now + AT_LEAST_EVERY, |next| next.min(now + AT_LEAST_EVERY));
        if next.is_some_and(|next| next <= now) {
            db.write(move |tx| store::promote(tx, now)).await?;
            // There may be more.
            look_at = now;
        } else if db.read(move |tx| store::oldest_event(tx, now)).await?.is_some()
            && db.write(move |tx| store::clean(tx, now)).await? > 0
        {
            look_at = now;
        }
        self.look_at = look_at;
        Ok(())
    }

    /// Looks for whoever has something ready, for the lanes in which everybody had their turn.
    async fn fill_lanes(&mut self) -> Result<(), Error> {
        let [slow, brisk] = &self.lanes;
        let (slow, brisk) = tokio::try_join!(self.search(slow), self.search(brisk))?;
        for (lane, found) in self.lanes.iter_mut().zip([slow, brisk]) {
            if let Some(found) = found {
                lane.after = if found.len() == LANE { found[LANE - 1] } else { Uuid::nil() };
                lane.turns = found.into();
            }
        }
        Ok(())
    }

    async fn search(&self, lane: &Lane) -> Result<Option<Vec<Uuid>>, Error> {
        if !lane.turns.is_empty() || self.free(lane.slow) == 0 {
            return Ok(None);
        }
        let (slow, db) = (lane.slow, &self.webhooks.0.db);
        let search = |after| db.read(move |tx| store::ready_subscriptions(tx, slow, after, LANE));
        let mut found = search(lane.after).await?;
        if found.is_empty() && !lane.after.is_nil() {
            found = search(Uuid::nil()).await?;
        }
        Ok(Some(found))
    }

    /// How many places are free in a lane.
    fn free(&self, slow: bool) -> usize {
        let in_all = AT_ONCE.saturating_sub(self.under_way.len());
        if !slow {
            return in_all;
        }
        let slow_ones = self.under_way.values().filter(|under_way| under_way.slow).count();
        AT_ONCE_SLOW.saturating_sub(slow_ones).min(in_all)
    }

    /// Gives the places that are free to those whose turn it is.
    fn share_out(&mut self) -> BTreeMap<Uuid, Turn> {
        let mut taken = HashMap::<Uuid, usize>::new();
        for under_way in self.under_way.values() {
            *taken.entry(under_way.subscription).or_default() += 1;
        }
        let mut turns = BTreeMap::new();
        let mut begun = 0;
        for number in 0..self.lanes.len() {
            let slow = self.lanes[number].slow;
            let mut free = self.free(slow).min(self.free(false).saturating_sub(begun));
            let each = if slow { AT_ONCE_EACH_SLOW } else { AT_ONCE_EACH };
            while free > 0
                && let Some(subscription) = self.lanes[number].turns.pop_front()
            {
                let wanted = each.saturating_sub(taken.get(&subscription).copied().unwrap_or(0));
                let places = wanted.min(free);
                if places > 0 {
                    turns.insert(subscription, Turn { places, slow });
                    free -= places;
                    begun += places;
                }
            }
        }
        turns
    }

    /// Writes down what has ended, and takes on what has a place.
    async fn write(&mut self, turns: &BTreeMap<Uuid, Turn>) -> Result<Vec<Letter>, Error> {
        if turns.is_empty() && self.done.is_empty() {
            return Ok(Vec::new());
        }
        let now = self.webhooks.0.clock.now();
        let (done, turns) = (self.done.clone(), turns.clone());
        let write = move |tx: &mut WriteTx<'_>| {
            Ok((store::record(tx, &done, now)?, store::claim(tx, &turns, now, LEASE)?))
        };
        let written = self.webhooks.0.db.write(write).await;
        match &written {
            Ok(_) | Err(Error::Busy | Error::Unavailable(_) | Error::Conflict(_)) => {}
            // It would not go better next time. Their leases end, and they are sent again.
            Err(_) => self.done.clear(),
        }
        let (disabled, letters) = written?;
        for (subscription, because) in disabled {
            tracing::info!(%subscription, because = because.word(), "a webhook subscription is disabled");
        }
        for done in self.done.drain(..) {
            if let Next::At(then) = done.next {
                self.look_at = self.look_at.min(then);
            }
        }
        Ok(letters)
    }

    fn begin(&mut self, letter: Letter, slow: bool) {
        let subscription = letter.claimed.subscription;
        let webhooks = self.webhooks.clone();
        let task = self.sending.spawn(async move { webhooks.attempt(letter).await });
        self.under_way.insert(task.id(), UnderWay { subscription, slow });
    }
}
