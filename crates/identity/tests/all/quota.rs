//! The hourly limit on calls: exact, for all processes together, also for concurrent calls.

use db::Db;
use futures_util::future::join_all;
use identity::quota::{MIGRATIONS, Quota, QuotaError, QuotaStatus};
use jiff::SignedDuration;
use testkit::{Engine, Fixture, Store};
use web::Clock;

/// A database with the table of calls, and a clock at a quarter past ten.
struct World {
    db: Db,
    clock: Clock,
    store: Store,
}

impl Fixture for World {
    async fn start(engine: Engine) -> Self {
        let store = Store::new(engine);
        let db = store.open("test", &[MIGRATIONS]);
        World { db, clock: Clock::manual("2026-03-01T10:15:00Z".parse().unwrap()), store }
    }
}

impl World {
    fn quota(&self, limit: u32) -> Quota {
        Quota::new(limit, self.db.clone(), self.clock.clone())
    }

    /// The same limit as another process on the same database has it.
    fn another(&self, limit: u32) -> Quota {
        Quota::new(limit, self.store.open("test", &[MIGRATIONS]), self.clock.clone())
    }

    fn advance(&self, seconds: i64) {
        self.clock.advance(SignedDuration::from_secs(seconds));
    }

    async fn rows(&self) -> Vec<(String, i64)> {
        let read = self.db.read(|tx| {
            tx.rows("SELECT caller, used FROM call_quota ORDER BY caller", &[], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
        });
        read.await.unwrap_or_else(|error: db::Error| panic!("{error}"))
    }
}

/// Whether a call was allowed.
async fn spend(quota: &Quota, caller: &str) -> bool {
    match quota.spend(caller).await {
        Ok(_) => true,
        Err(QuotaError::UsedUp(_)) => false,
        Err(QuotaError::Db(error)) => panic!("{error}"),
    }
}

/// How many of `count` concurrent calls were allowed.
async fn at_once(quotas: &[Quota], calls: usize) -> usize {
    let calls = (0..calls).map(|number| {
        let quota = quotas[number % quotas.len()].clone();
        tokio::spawn(async move { spend(&quota, "ada").await })
    });
    join_all(calls).await.into_iter().filter(|allowed| *allowed.as_ref().unwrap()).count()
}

testkit::on_both_engines! {
    async fn calls_up_to_the_limit_pass_with_their_remaining_count(world: World) {
        let quota = world.quota(5);
        assert_eq!(quota.limit(), 5);
        for remaining in [4, 3, 2, 1, 0] {
            assert_eq!(quota.spend("ada").await.unwrap(), QuotaStatus { limit: 5, remaining, reset: 2700 });
        }
        for _ in 0..3 {
            let Err(QuotaError::UsedUp(standing)) = quota.spend("ada").await else { panic!("it is used up") };
            assert_eq!(standing, QuotaStatus { limit: 5, remaining: 0, reset: 2700 });
        }
        // Callers have separate quotas.
        assert_eq!(quota.spend("ben").await.unwrap(), QuotaStatus { limit: 5, remaining: 4, reset: 2700 });
        world.advance(2699);
        let Err(QuotaError::UsedUp(standing)) = quota.spend("ada").await else { panic!("it is used up") };
        assert_eq!(standing.reset, 1);
        world.advance(1);
        assert_eq!(quota.spend("ada").await.unwrap(), QuotaStatus { limit: 5, remaining: 4, reset: 3600 });
    }

    async fn large_limit_is_exact(world: World) {
        // More than one at a time is taken from the database here, and the last step is not a whole one.
        for (caller, limit) in [("a", 199), ("b", 200), ("c", 250), ("d", 1005)] {
            let quota = world.quota(limit);
            for call in 1..=limit {
                let standing = quota.spend(caller).await.unwrap();
                assert_eq!(standing.remaining, i64::from(limit - call), "{limit}");
            }
            assert!(!spend(&quota, caller).await, "{limit}");
        }
    }

    async fn concurrent_calls_pass_exactly_up_to_the_limit(world: World) {
        for limit in [1, 7, 150, 199, 200] {
            assert_eq!(at_once(&[world.quota(limit)], 200).await, limit as usize, "{limit}");
            world.advance(3600);
        }
    }

    /// If each call took its own batch, the last call would find none left.
    async fn concurrent_calls_within_the_limit_all_pass(world: World) {
        let quota = world.quota(1000);
        assert_eq!(at_once(std::slice::from_ref(&quota), 300).await, 300);
        assert_eq!(quota.spend("ada").await.unwrap().remaining, 699);
        assert_eq!(at_once(std::slice::from_ref(&quota), 900).await, 699);
    }

    async fn processes_share_one_limit(world: World) {
        // One at a time from the database: not one is lost.
        let quotas = [world.quota(150), world.another(150), world.another(150)];
        assert_eq!(at_once(&quotas, 240).await, 150);
        world.advance(3600);
        // Ten at a time: what one process holds, another cannot hand out.
        let quotas = [world.quota(1000), world.another(1000)];
        let mut passed = 0;
        for round in 0..1100 {
            passed += usize::from(spend(&quotas[round % 2], "ada").await);
        }
        assert_eq!(passed, 1000);
        world.advance(3600);
        for quota in quotas.iter().cycle().take(18) {
            assert!(spend(quota, "ada").await);
        }
        // Each took 1, 1, 2, 4 and 8, and spent nine of these 16: all but the 16 of the other and the nine before.
        assert_eq!(at_once(&quotas[..1], 1100).await, 975);
        assert_eq!(at_once(&quotas[1..], 20).await, 7);
    }

    /// A process that is killed loses what it has taken and not spent.
    async fn restarts_do_not_use_up_the_limit(world: World) {
        for restart in 0..300 {
            assert!(spend(&world.quota(100_000), "ada").await, "after {restart} restarts");
        }
        assert_eq!(world.rows().await, [("ada".into(), 30_000)]);
    }

    /// Two machines' clocks are never quite the same: around the full hour one is in the next hour already.
    async fn clock_that_is_behind_resets_no_quota(world: World) {
        let quota = world.quota(10);
        let behind =
            Quota::new(10, world.store.open("test", &[MIGRATIONS]), Clock::manual(world.clock.now()));
        world.advance(2700);
        let mut passed = 0;
        for _ in 0..20 {
            passed += usize::from(spend(&quota, "ada").await);
            passed += usize::from(spend(&behind, "ada").await);
        }
        assert_eq!(passed, 10);
        // A clock that is hours ahead takes no calls of the others.
        let far = Clock::manual("2031-01-01T00:00:00Z".parse().unwrap());
        let wrong = Quota::new(10, world.store.open("test", &[MIGRATIONS]), far);
        assert!(spend(&wrong, "ben").await);
        for _ in 0..10 {
            assert!(spend(&quota, "ben").await);
        }
        assert!(!spend(&quota, "ben").await);
    }

    async fn limit_of_zero_allows_no_call(world: World) {
        let quota = world.quota(0);
        assert!(!spend(&quota, "ada").await);
        assert!(!spend(&quota, "ada").await);
    }

    async fn counts_of_past_hours_are_deleted(world: World) {
        let quota = world.quota(10);
        for number in 0..30 {
            assert!(spend(&quota, &format!("caller {number:02}")).await);
        }
        assert_eq!(world.rows().await.len(), 30);
        world.advance(2 * 3600);
        for number in 0..3 {
            assert!(spend(&quota, &format!("new {number}")).await);
        }
        assert_eq!(world.rows().await, [("new 0".into(), 1), ("new 1".into(), 1), ("new 2".into(), 1)]);
    }
}
