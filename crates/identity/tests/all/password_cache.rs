//! A verified password is cached for a time, and the cache never accepts a password that is no longer valid.

use crate::support::{HERE, Outcome, PASSWORD, World, address, at_once, count, sign_in};

testkit::on_both_engines! {
    async fn verified_password_is_not_hashed_again(world: World) {
        world.add("ada", PASSWORD).await;
        assert_eq!(world.call("ada", PASSWORD).await, 200);
        let meters = world.meters().await;
        assert!(!meters.is_empty());
        for _ in 0..200 {
            world.advance(1);
            assert_eq!(world.call("ada", PASSWORD).await, 200);
        }
        // Each check would have noted the time.
        assert_eq!(world.meters().await, meters);
        assert_ne!(sign_in(&world.another(), "ada", PASSWORD, HERE).await, Outcome::Wrong);
        assert_ne!(world.meters().await, meters, "a check does not show in the meters any more");
    }

    async fn concurrent_first_requests_share_one_check(world: World) {
        let id = world.add("ada", PASSWORD).await;
        // Were they checked one by one, the meter would stop them after ten.
        let outcomes = at_once(&world.accounts, (0..64).map(|_| ("ada".into(), PASSWORD, HERE))).await;
        assert_eq!(count(&outcomes, Outcome::In(id)), 64, "{outcomes:?}");
        let wrong = at_once(&world.accounts, (0..64).map(|_| ("ada".into(), "wrong horse", HERE))).await;
        assert_eq!(count(&wrong, Outcome::Wrong), 64, "{wrong:?}");
    }

    async fn changed_password_takes_effect_at_once(world: World) {
        world.add("ada", PASSWORD).await;
        assert_eq!(world.call("ada", PASSWORD).await, 200);
        world.accounts.set_password("ada", "battery staple".into()).await.unwrap();
        assert_eq!(world.call("ada", PASSWORD).await, 401);
        assert_eq!(world.call("ada", "battery staple").await, 200);
        // The first password again: the old cache entry is not used, but the password is right.
        world.accounts.set_password("ada", PASSWORD.into()).await.unwrap();
        assert_eq!(world.call("ada", "battery staple").await, 401);
        assert_eq!(world.call("ada", PASSWORD).await, 200);
    }

    async fn change_by_another_process_takes_effect_at_once(world: World) {
        let another = world.another();
        let id = another.add("ada", PASSWORD.into()).await.unwrap();
        assert_eq!(world.call("ada", PASSWORD).await, 200);
        assert_eq!(sign_in(&another, "ada", PASSWORD, HERE).await, Outcome::In(id));
        another.set_password("ada", "battery staple".into()).await.unwrap();
        assert_eq!(world.call("ada", PASSWORD).await, 401);
        assert_eq!(world.call("ada", "battery staple").await, 200);
        another.remove("ada").await.unwrap();
        assert_eq!(world.call("ada", "battery staple").await, 401);
    }

    async fn removed_account_is_rejected_at_once_and_its_name_can_be_reused(world: World) {
        let id = world.add("ada", PASSWORD).await;
        assert_eq!(world.call("ada", PASSWORD).await, 200);
        world.accounts.remove("ada").await.unwrap();
        assert_eq!(world.call("ada", PASSWORD).await, 401);
        let new = world.add("ada", PASSWORD).await;
        assert_ne!(new, id);
        let answer = world.client.signed_in("ada", PASSWORD).get("/me").send().await;
        assert_eq!(answer.has_status(200).text(), new.to_string());
    }

    async fn cached_demo_account_is_rejected_without_the_demo(world: World) {
        world.accounts.add_demo("demo", "demo").await.unwrap();
        assert_eq!(world.call("demo", "demo").await, 200);
        assert_eq!(sign_in(&world.without_demo(), "demo", "demo", HERE).await, Outcome::Wrong);
    }

    async fn wrong_password_is_not_cached(world: World) {
        world.add("ada", "battery staple").await;
        assert_eq!(world.call("ada", PASSWORD).await, 401);
        assert_eq!(world.call("bob", PASSWORD).await, 401);
        world.accounts.set_password("ada", PASSWORD.into()).await.unwrap();
        world.add("bob", PASSWORD).await;
        assert_eq!(world.call("ada", PASSWORD).await, 200);
        assert_eq!(world.call("bob", PASSWORD).await, 200);
    }

    // Otherwise the answers to further guesses, 429 to a wrong one and 200 to the right one, would tell them apart
    // without limit for as long as the owner's password is remembered.
    async fn cached_password_does_not_bypass_the_throttle(world: World) {
        let id = world.add("ada", PASSWORD).await;
        let guess = async |address| sign_in(&world.accounts, "ada", "wrong horse", address).await;
        let right = async |address| sign_in(&world.accounts, "ada", PASSWORD, address).await;
        // The owner's own address, where the password is remembered.
        assert_eq!(right(address(1)).await, Outcome::In(id));
        for _ in 0..10 {
            assert_eq!(guess(address(1)).await, Outcome::Wrong);
        }
        assert_eq!(guess(address(1)).await, Outcome::Wait(30));
        assert_eq!(right(address(1)).await, Outcome::Wait(30));
        // Another address, where it is not.
        for _ in 0..10 {
            assert_eq!(guess(address(2)).await, Outcome::Wrong);
        }
        assert_eq!(right(address(2)).await, Outcome::Wait(30));
        // There were no guesses from a third address.
        assert_eq!(right(address(3)).await, Outcome::In(id));

        world.advance(30);
        assert_eq!(right(address(1)).await, Outcome::In(id));
        assert_eq!(guess(address(1)).await, Outcome::Wrong);
        assert_eq!(right(address(1)).await, Outcome::In(id));
    }
}
