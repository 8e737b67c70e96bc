//! Sends what is ready, in turns: whoever has something gets their places before anybody gets more.
//!
//! There are two lanes. Subscriptions whose last attempt failed or took long share half of all places and have one each, so
//! that they leave room for the others, however many they are; whoever answers at once again is among the others again.
//! An attempt of those that takes long meanwhile gives its place to another one, as long as there are not very many.
//! One transaction writes down what has ended and takes on what begins, as much of it as there is by then.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use db::{Error, WriteTx};
use jiff::Timestamp;
use tokio::{
    task::{Id, JoinError, JoinSet},
    time::Instant,
};
use uuid::Uuid;

use crate::{
    Webhooks,
    attempt::{LEASE, SLOW, panics},
    store::{self, Done, Letter, Next, Subscriber, Taken},
};

/// How many attempts are made at once: for one subscription, for all of an owner's, and in all.
const AT_ONCE_EACH: usize = 4;
const AT_ONCE_OWNER: usize = 16;
const AT_ONCE: usize = 64;

/// How many there are at the most, with those that took long and gave their places to others.
const AT_MOST: usize = 256;

/// The same for slow ones.
const AT_ONCE_EACH_SLOW: usize = 1;
const AT_ONCE_SLOW: usize = AT_ONCE / 2;

/// How often to look for what waits, at the least: other processes may have left it.
const AT_LEAST_EVERY: Duration = Duration::from_secs(5);

/// How long to wait when something went wrong.
const AFTER_A_FAILURE: Duration = Duration::from_secs(1);

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
    /// Whether somebody may have something ready, or a place, who was passed over when it was filled.
    stale: bool,
}

/// What somebody gets in a turn.
#[derive(Clone, Copy)]
pub(crate) struct Turn {
    pub(crate) places: usize,
    slow: bool,
}

/// Whom an attempt that is under way is for.
struct UnderWay {
    to: Arc<Subscriber>,
    slow: bool,
    since: Timestamp,
}

impl UnderWay {
    /// When it gives its place to another one.
    fn yields_at(&self) -> Option<Timestamp> {
        (!self.slow).then(|| self.since + SLOW)
    }
}

/// How many places are free: in all, and of those the ones that slow subscriptions can have.
#[derive(Clone, Copy)]
struct Free {
    in_all: usize,
    slow: usize,
}

impl Free {
    fn of(self, lane: &Lane) -> usize {
        if lane.slow { self.slow } else { self.in_all }
    }
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
        let lane = |slow| Lane { slow, turns: VecDeque::new(), after: Uuid::nil(), stale: true };
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
        // Shown from the start, so that a first panic is seen as a change.
        panics().increment(0);
        let mut stop = std::pin::pin!(stop);
        loop {
            let next_turn = Instant::now() + PAUSE;
            match self.turn().await {
                // There may be more, and there are places for it.
                Ok(true) => {}
                Ok(false) => {
                    let until = self.until();
                    tokio::select! {
                        biased;
                        () = &mut stop => break,
                        () = self.webhooks.0.clock.wait_until(until) => {}
                        // Somebody may have set the clock back.
                        () = tokio::time::sleep_until(next_turn + AT_LEAST_EVERY) => {}
                        () = self.webhooks.0.woken.notified() => self.make_stale(),
                        Some(ended) = self.sending.join_next_with_id() => self.ended(ended),
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "webhooks could not be sent; trying again");
                    tokio::select! {
                        biased;
                        () = &mut stop => break,
                        () = tokio::time::sleep_until(next_turn + AFTER_A_FAILURE) => {}
                    }
                }
            }
            tokio::time::sleep_until(next_turn).await;
            while let Some(ended) = self.sending.try_join_next_with_id() {
                self.ended(ended);
            }
            // A stop is seen before what ended after it makes room for more.
            tokio::select! {
                biased;
                () = &mut stop => break,
                () = std::future::ready(()) => {}
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
        let (id, done) = ended.unwrap_or_else(|error| {
            // Not by sending, which is caught; the delivery is sent again when its lease expires.
            tracing::error!(%error, "an attempt to deliver a webhook was not recorded");
            (error.id(), None)
        });
        self.under_way.remove(&id);
        self.done.extend(done);
        self.make_stale();
    }

    fn make_stale(&mut self) {
        self.lanes.iter_mut().for_each(|lane| lane.stale = true);
    }

    /// Does what can be done now, and says whether there may be more of it.
    async fn turn(&mut self) -> Result<bool, Error> {
        let now = self.webhooks.0.clock.now();
        if now >= self.look_at || now + AT_LEAST_EVERY < self.look_at {
            self.look(now).await?;
        }
        let free = self.free(now);
        self.fill_lanes(free).await?;
        let turns = self.share_out(free);
        let Taken { letters, given_up } = self.write(&turns).await?;
        if given_up || !letters.is_empty() {
            self.make_stale();
        }
        for letter in letters {
            let slow = turns.get(&letter.claimed.subscription).is_some_and(|turn| turn.slow);
            self.begin(letter, slow);
        }
        let free = self.free(now);
        Ok(self.lanes.iter().any(|lane| free.of(lane) > 0 && (lane.stale || !lane.turns.is_empty())))
    }

    /// When the next turn is, if nothing happens before: when there is a place again, or something to look for.
    fn until(&self) -> Timestamp {
        let now = self.webhooks.0.clock.now();
        if self.free(now).in_all > 0 {
            return self.look_at;
        }
        let yields = self.under_way.values().filter_map(UnderWay::yields_at).filter(|at| *at > now).min();
        yields.map_or(self.look_at, |at| at.min(self.look_at))
    }

    /// Makes ready what has waited long enough, and removes what is old.
    async fn look(&mut self, now: Timestamp) -> Result<(), Error> {
        let db = &self.webhooks.0.db;
        let next = db.read(store::next_due).await?;
        let mut look_at = next.map_or(now + AT_LEAST_EVERY, |next| next.min(now + AT_LEAST_EVERY));
        if next.is_some_and(|next| next <= now) {
            db.write(move |tx| store::promote(tx, now)).await?;
            self.make_stale();
            // There may be more.
            look_at = now;
        } else if db.read(move |tx| store::has_old_events(tx, now)).await?
            && db.write(move |tx| store::clean(tx, now)).await? > 0
        {
            look_at = now;
        }
        self.look_at = look_at;
        Ok(())
    }

    /// Looks for whoever has something ready, for the lanes in which everybody had their turn.
    async fn fill_lanes(&mut self, free: Free) -> Result<(), Error> {
        let [slow, brisk] = &self.lanes;
        let (slow, brisk) = tokio::try_join!(self.search(slow, free), self.search(brisk, free))?;
        for (lane, found) in self.lanes.iter_mut().zip([slow, brisk]) {
            if let Some(found) = found {
                lane.stale = found.len() == LANE;
                lane.after = if lane.stale { found[LANE - 1] } else { Uuid::nil() };
                lane.turns = found.into();
            }
        }
        Ok(())
    }

    async fn search(&self, lane: &Lane, free: Free) -> Result<Option<Vec<Uuid>>, Error> {
        if !lane.turns.is_empty() || free.of(lane) == 0 {
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

    fn free(&self, now: Timestamp) -> Free {
        let all = self.under_way.len();
        let slow_ones = self.under_way.values().filter(|under_way| under_way.slow).count();
        let yielding =
            self.under_way.values().filter_map(UnderWay::yields_at).filter(|at| *at <= now).count();
        let in_all = (AT_ONCE + yielding).min(AT_MOST).saturating_sub(all);
        Free { in_all, slow: AT_ONCE_SLOW.saturating_sub(slow_ones).min(in_all) }
    }

    /// Gives the places that are free to those whose turn it is.
    fn share_out(&mut self, free: Free) -> BTreeMap<Uuid, Turn> {
        let mut taken = HashMap::<Uuid, usize>::new();
        for under_way in self.under_way.values() {
            *taken.entry(under_way.to.id).or_default() += 1;
        }
        let mut turns = BTreeMap::new();
        let mut in_all = free.in_all;
        for lane in &mut self.lanes {
            let each = if lane.slow { AT_ONCE_EACH_SLOW } else { AT_ONCE_EACH };
            let mut left = free.of(lane).min(in_all);
            while left > 0
                && let Some(subscription) = lane.turns.pop_front()
            {
                let wanted = each.saturating_sub(taken.get(&subscription).copied().unwrap_or(0));
                let places = wanted.min(left);
                if places > 0 {
                    turns.insert(subscription, Turn { places, slow: lane.slow });
                    left -= places;
                    in_all -= places;
                }
            }
        }
        turns
    }

    /// Writes down what has ended, and takes on what has a place.
    async fn write(&mut self, turns: &BTreeMap<Uuid, Turn>) -> Result<Taken, Error> {
        if turns.is_empty() && self.done.is_empty() {
            return Ok(Taken { letters: Vec::new(), given_up: false });
        }
        let mut owners = HashMap::<String, usize>::new();
        for under_way in self.under_way.values() {
            *owners.entry(under_way.to.owner.clone()).or_default() += 1;
        }
        let now = self.webhooks.0.clock.now();
        let (done, turns) = (self.done.clone(), turns.clone());
        let write = move |tx: &mut WriteTx<'_>| {
            let recorded = store::record(tx, &done, now)?;
            Ok((recorded, store::claim(tx, &turns, &owners, AT_ONCE_OWNER, now, LEASE)?))
        };
        let written = self.webhooks.0.db.write(write).await;
        match &written {
            Ok(_) | Err(Error::Busy | Error::Unavailable(_) | Error::Conflict(_)) => {}
            // It would not go better next time. Their leases end, and they are sent again.
            Err(_) => self.done.clear(),
        }
        let (recorded, taken) = written?;
        if recorded.again {
            self.make_stale();
        }
        for (subscription, because) in recorded.disabled {
            tracing::info!(%subscription, because = because.word(), "a webhook subscription is disabled");
        }
        for done in self.done.drain(..) {
            if let Next::At(then) = done.next {
                self.look_at = self.look_at.min(then);
            }
        }
        Ok(taken)
    }

    fn begin(&mut self, letter: Letter, slow: bool) {
        let under_way = UnderWay { to: letter.to.clone(), slow, since: self.webhooks.0.clock.now() };
        let webhooks = self.webhooks.clone();
        let task = self.sending.spawn(async move { webhooks.attempt(letter).await });
        self.under_way.insert(task.id(), under_way);
    }
}
