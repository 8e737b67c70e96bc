//! Many concurrent sign-ins: all are answered, and the queue of password checks is limited.

use std::time::Duration;

use identity::Hashing;

use crate::support::{HERE, Outcome, PASSWORD, World, address, at_once, count, sign_in};

testkit::on_both_engines! {
    async fn five_hundred_concurrent_sign_ins_are_all_answered_some_as_busy(world: World) {
        let id = world.add("ada", PASSWORD).await;
        let hashing = Hashing { checks_waiting: 32, ..Hashing::default() };
        let (accounts, ..) = world.with_hashing(hashing).await;
        let remembered = sign_in(&accounts, "ada", PASSWORD, HERE).await;
        let attempts = (0..500).map(|number| (format!("name {number}"), "wrong horse", address(number)));
        let crowd = at_once(&accounts, attempts);
        // A cached password needs no permit of the queue.
        let (outcomes, ada) = tokio::join!(
            tokio::time::timeout(Duration::from_secs(120), crowd),
            sign_in(&accounts, "ada", PASSWORD, HERE),
        );
        let outcomes = outcomes.expect("all are answered");
        let (wrong, busy) = (count(&outcomes, Outcome::Wrong), count(&outcomes, Outcome::Busy));
        assert_eq!(wrong + busy, 500, "{outcomes:?}");
        assert!(wrong >= 32 && busy > 0, "{wrong} were checked, {busy} were told to come back");
        assert_eq!([remembered, ada], [Outcome::In(id); 2]);

        // Busy sign-ins were not charged: there are three meters for each checked one, and three of ada.
        assert_eq!(world.meters().await.len(), 3 * wrong + 3);
        // All places are free again.
        let outcomes =
            at_once(&accounts, (0..20).map(|number| ("ada".into(), PASSWORD, address(1000 + number)))).await;
        assert_eq!(count(&outcomes, Outcome::In(id)), 20, "{outcomes:?}");
    }

    async fn busy_gets_503_with_retry_after(world: World) {
        let (_, client, _server) = world.with_hashing(Hashing::default()).await;
        let calls = (0..400).map(|number| {
            let client = client.signed_in(&format!("name {number}"), "wrong horse");
            async move { client.get("/me").send().await }
        });
        let answers = futures_util::future::join_all(calls).await;
        // All requests are from one address, which has a hundred guesses.
        let with = |status| answers.iter().filter(|answer| answer.status == status).count();
        assert_eq!(with(401), 100);
        assert_eq!(with(401) + with(429) + with(503), 400);
        for answer in answers.iter().filter(|answer| answer.status == 503) {
            answer.is_problem(503, "unavailable");
            assert_eq!(answer.header("retry-after"), "1");
        }
        for answer in answers.iter().filter(|answer| answer.status == 429) {
            assert_eq!(answer.header("retry-after"), "5");
        }
    }

    async fn old_meters_are_reused_by_concurrent_sign_ins(world: World) {
        let id = world.add("ada", PASSWORD).await;
        let attempts = || {
            (0..64).map(|number| (format!("name {}", number % 8), "wrong horse", address(number / 8)))
        };
        for _ in 0..2 {
            let outcomes = at_once(&world.accounts, attempts()).await;
            assert_eq!(count(&outcomes, Outcome::Wrong), 64, "{outcomes:?}");
            // All meters are old now, and each try clears some that others are about to use.
            world.advance(60 * 60);
        }
        assert_eq!(sign_in(&world.accounts, "ada", PASSWORD, HERE).await, Outcome::In(id));
    }
}
