//! Guesses are throttled; the right password is accepted.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpSocket,
};

use crate::support::{HERE, Outcome, PASSWORD, World, address, at_once, count, sign_in};

const GUESS: &str = "wrong horse";

/// Calls the service from an address of our choice, which the machine has plenty of: 127.0.0.0/8.
async fn call_from(source: [u8; 4], world: &World, name: &str, password: &str) -> String {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::from((source, 0))).unwrap();
    let mut stream = socket.connect(world.client.address()).await.unwrap();
    let credentials = BASE64_STANDARD.encode(format!("{name}:{password}"));
    let request = format!(
        "GET /me HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Basic {credentials}\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer.lines().next().unwrap().to_owned()
}

testkit::on_both_engines! {
    async fn address_has_ten_guesses_at_an_account_then_one_per_half_minute(world: World) {
        world.add("ada", PASSWORD).await;
        let client = world.client.signed_in("ada", GUESS);
        for _ in 0..10 {
            client.get("/me").send().await.is_problem(401, "unauthorized");
        }
        for _ in 0..3 {
            let answer = client.get("/me").send().await;
            assert_eq!(
                answer.is_problem(429, "too-many-requests"),
                "There were too many wrong passwords. Try again in 30 seconds."
            );
            assert_eq!((answer.header("retry-after"), answer.header("www-authenticate")), ("30", ""));
        }
        // The right password has to wait as well: it was not remembered before.
        assert_eq!(world.call("ada", PASSWORD).await, 429);

        world.advance(29);
        assert_eq!(client.get("/me").send().await.has_status(429).header("retry-after"), "1");
        world.advance(1);
        assert_eq!(client.get("/me").send().await.status, 401);
        assert_eq!(client.get("/me").send().await.has_status(429).header("retry-after"), "30");
        // Unused tries accumulate, up to ten.
        world.advance(24 * 60 * 60);
        for _ in 0..10 {
            assert_eq!(client.get("/me").send().await.status, 401);
        }
        assert_eq!(client.get("/me").send().await.status, 429);
    }

    async fn guesses_at_an_unknown_name_are_counted(world: World) {
        world.add("ada", PASSWORD).await;
        assert_eq!(sign_in(&world.accounts, "ada", GUESS, address(1)).await, Outcome::Wrong);
        let known = world.meters().await;
        assert_eq!(known.len(), 3);
        assert_eq!(sign_in(&world.accounts, "nobody", GUESS, address(2)).await, Outcome::Wrong);
        let mut times: Vec<_> = known.iter().chain(&known).map(|(_, full_at)| *full_at).collect();
        times.sort_unstable();
        let found: Vec<_> = world.meters().await.iter().map(|(_, full_at)| *full_at).collect();
        assert_eq!(found, times);
        for _ in 0..9 {
            assert_eq!(sign_in(&world.accounts, "nobody", GUESS, address(2)).await, Outcome::Wrong);
        }
        assert_eq!(sign_in(&world.accounts, "nobody", GUESS, address(2)).await, Outcome::Wait(30));
    }

    async fn concurrent_guesses_are_all_counted(world: World) {
        world.add("ada", PASSWORD).await;
        let guesses = ["guess-01", "guess-02", "guess-03", "guess-04", "guess-05", "guess-06", "guess-07", "guess-08"];
        let attempts = guesses.iter().chain(&["guess-09", "guess-10", "guess-11", "guess-12", "guess-13"]);
        let outcomes = at_once(&world.accounts, attempts.map(|guess| ("ada".into(), *guess, HERE))).await;
        assert_eq!((count(&outcomes, Outcome::Wrong), count(&outcomes, Outcome::Wait(30))), (10, 3), "{outcomes:?}");
    }

    async fn sign_in_resets_the_count_of_wrong_passwords(world: World) {
        let id = world.add("ada", PASSWORD).await;
        for _ in 0..3 {
            for _ in 0..9 {
                assert_eq!(sign_in(&world.accounts, "ada", GUESS, HERE).await, Outcome::Wrong);
            }
            assert_eq!(sign_in(&world.another(), "ada", PASSWORD, HERE).await, Outcome::In(id));
        }
    }

    async fn other_addresses_are_not_throttled(world: World) {
        world.add("ada", PASSWORD).await;
        for _ in 0..10 {
            assert_eq!(call_from([127, 0, 0, 1], &world, "ada", GUESS).await, "HTTP/1.1 401 Unauthorized");
        }
        assert_eq!(call_from([127, 0, 0, 1], &world, "ada", PASSWORD).await, "HTTP/1.1 429 Too Many Requests");
        assert_eq!(call_from([127, 0, 0, 2], &world, "ada", PASSWORD).await, "HTTP/1.1 200 OK");
        // Another account at the same address is not throttled either.
        world.add("bob", PASSWORD).await;
        assert_eq!(call_from([127, 0, 0, 1], &world, "bob", PASSWORD).await, "HTTP/1.1 200 OK");
    }

    async fn address_has_a_hundred_guesses_at_all_names_together(world: World) {
        let id = world.add("ada", PASSWORD).await;
        let attempts = (0..110).map(|number| (format!("name {number}"), GUESS, address(1)));
        let outcomes = at_once(&world.accounts, attempts).await;
        assert_eq!((count(&outcomes, Outcome::Wrong), count(&outcomes, Outcome::Wait(5))), (100, 10));
        assert_eq!(sign_in(&world.accounts, "ada", PASSWORD, address(1)).await, Outcome::Wait(5));
        assert_eq!(sign_in(&world.accounts, "ada", PASSWORD, address(2)).await, Outcome::In(id));
        world.advance(5);
        assert_eq!(sign_in(&world.accounts, "one more", GUESS, address(1)).await, Outcome::Wrong);
        assert_eq!(sign_in(&world.accounts, "and another", GUESS, address(1)).await, Outcome::Wait(5));
    }

    async fn account_has_a_hundred_guesses_from_all_addresses_except_the_owners(world: World) {
        let id = world.add("ada", PASSWORD).await;
        let owner = address(1000);
        assert_eq!(sign_in(&world.accounts, "ada", PASSWORD, owner).await, Outcome::In(id));
        let attempts = (0..110).map(|number| ("ada".into(), GUESS, address(number)));
        let outcomes = at_once(&world.accounts, attempts).await;
        assert_eq!((count(&outcomes, Outcome::Wrong), count(&outcomes, Outcome::Wait(10))), (100, 10));
        // A stranger waits even with the right password; the owner does not, remembered or not.
        assert_eq!(sign_in(&world.accounts, "ada", PASSWORD, address(500)).await, Outcome::Wait(10));
        for _ in 0..3 {
            assert_eq!(sign_in(&world.another(), "ada", PASSWORD, owner).await, Outcome::In(id));
        }
        // And what the owner does gives strangers no more guesses.
        assert_eq!(sign_in(&world.accounts, "ada", GUESS, address(501)).await, Outcome::Wait(10));
        world.advance(10);
        assert_eq!(sign_in(&world.accounts, "ada", GUESS, address(502)).await, Outcome::Wrong);
        assert_eq!(sign_in(&world.accounts, "ada", GUESS, address(503)).await, Outcome::Wait(10));
    }

    async fn address_of_the_owner_is_deleted_after_a_month(world: World) {
        let id = world.add("ada", PASSWORD).await;
        assert_eq!(sign_in(&world.accounts, "ada", PASSWORD, address(1000)).await, Outcome::In(id));
        world.advance(30 * 24 * 60 * 60 + 1);
        at_once(&world.accounts, (0..100).map(|number| ("ada".into(), GUESS, address(number)))).await;
        assert_eq!(sign_in(&world.another(), "ada", PASSWORD, address(1000)).await, Outcome::Wait(10));
    }

    async fn addresses_of_an_ipv6_network_count_as_one(world: World) {
        let within = |host| IpAddr::from(Ipv6Addr::new(0x2001, 0xdb8, 1, 2, host, 0, 0, host));
        for host in 0..10 {
            assert_eq!(sign_in(&world.accounts, "ada", GUESS, within(host)).await, Outcome::Wrong);
        }
        assert_eq!(sign_in(&world.accounts, "ada", GUESS, within(99)).await, Outcome::Wait(30));
        let next = Ipv6Addr::new(0x2001, 0xdb8, 1, 3, 0, 0, 0, 1);
        assert_eq!(sign_in(&world.accounts, "ada", GUESS, next).await, Outcome::Wrong);
    }

    async fn processes_share_their_counts(world: World) {
        world.add("ada", PASSWORD).await;
        let another = world.another();
        for _ in 0..5 {
            assert_eq!(sign_in(&world.accounts, "ada", GUESS, HERE).await, Outcome::Wrong);
            assert_eq!(sign_in(&another, "ada", GUESS, HERE).await, Outcome::Wrong);
        }
        assert_eq!(sign_in(&world.accounts, "ada", GUESS, HERE).await, Outcome::Wait(30));
        assert_eq!(sign_in(&another, "ada", GUESS, HERE).await, Outcome::Wait(30));
    }

    async fn old_meters_are_deleted(world: World) {
        at_once(&world.accounts, (0..50).map(|number| (format!("name {number}"), GUESS, address(number)))).await;
        assert_eq!(world.meters().await.len(), 150);
        world.advance(60 * 60);
        // Each try deletes ten old meters and adds three.
        for number in 0..15 {
            assert_eq!(sign_in(&world.accounts, "new", GUESS, address(1000 + number)).await, Outcome::Wrong);
        }
        assert_eq!(world.meters().await.len(), 1 + 15 + 15);
    }
}
