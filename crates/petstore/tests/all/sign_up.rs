//! Making users, with a session or without one: outside of a demo, an address makes a limited number an hour.

use serde_json::{Value, json};
use testkit::{Answer, Store};

use crate::fixture::{As, Open, Setup, with_demo};

fn opened() -> Setup {
    Setup { open_sign_up: true, ..closed() }
}

fn closed() -> Setup {
    Setup { sign_ups_per_hour: 5, ..Setup::default() }
}

/// Creates users of these names as a caller, each with a password.
async fn make(caller: &As, names: &[&str]) -> Answer {
    let users: Value = names.iter().map(|name| json!({"username": name, "password": "secret"})).collect();
    caller.post("/v3/user/createWithList").json(&users).send().await
}

/// Creates a user by a user who has logged in.
async fn make_one(caller: &As, name: &str) -> Answer {
    caller.post("/v3/user").json(&json!({"username": name})).send().await
}

/// Creates the maximum number of users of an address by two users who have logged in. Both operations count together.
async fn uses_up_the_limit_with_sessions(open: &Open) {
    make(&open.ada, &["a", "b", "c"]).await.has_status(200);
    for name in ["d", "e"] {
        make_one(&open.ben, name).await.has_status(200);
    }
    has_to_wait(&make(&open.ada, &["f"]).await, 720);
    has_to_wait(&make_one(&open.ben, "f").await, 720);
    open.user("f").await.is_problem(404, "not-found");
    open.advance(720);
    make_one(&open.ben, "f").await.has_status(200);
}

impl Open {
    async fn can_log_in(&self, name: &str) -> bool {
        let path = format!("/v3/user/login?username={name}&password=secret");
        self.anyone.get(&path).send().await.status == 200
    }
}

#[track_caller]
fn has_to_wait(answer: &Answer, seconds: u32) {
    let said = format!("Too many users were made from this address. Try again in {seconds} seconds.");
    assert_eq!(answer.is_problem(429, "too-many-requests"), said);
    assert_eq!(answer.header("retry-after"), seconds.to_string());
}

testkit::on_both_engines! {
    async fn list_of_users_needs_a_session_without_the_demo(open: Open) {
        let before = open.dump().await;
        let said = "This operation needs a user who has logged in. Log in at /v3/user/login, and send the session as a bearer \
                    token or as its cookie.";
        let refused = make(&open.anyone, &["zoe"]).await;
        assert_eq!(refused.is_problem(401, "unauthorized"), said);
        assert_eq!(refused.header("www-authenticate"), "Bearer realm=\"Pet store\"");
        make(&open.pets, &["zoe"]).await.is_problem(401, "unauthorized");
        assert_eq!(open.dump().await, before);
        make(&open.ada, &["zoe"]).await.is(200, &json!({"id": 1, "username": "zoe"}));
        assert!(open.can_log_in("zoe").await);
    }

    async fn users_created_without_a_session_work_only_in_the_demo(store: Store) {
        let open = Open::on(store, with_demo()).await;
        make(&open.anyone, &["a", "b"]).await.is(200, &json!({"id": 12, "username": "b"}));
        assert!(open.can_log_in("a").await && open.can_log_in("b").await);
        // A user that a demo user creates is a demo user; a user that another user creates is not.
        let of_the_demo = open.anyone.bearer(&open.session_of("a").await);
        for (maker, name) in [(&of_the_demo, "c"), (&open.ada, "d")] {
            let user = json!({"username": name, "password": "secret"});
            maker.post("/v3/user").json(&user).send().await.has_status(200);
        }
        let open = open.reopen(Setup::default()).await;
        for (name, works) in [("a", false), ("b", false), ("c", false), ("d", true)] {
            assert_eq!(open.can_log_in(name).await, works, "{name}");
        }
        make(&open.anyone, &["e"]).await.is_problem(401, "unauthorized");
        let open = open.reopen(with_demo()).await;
        assert!(open.can_log_in("a").await);
    }

    async fn open_sign_up_limits_users_per_address_and_hour(store: Store) {
        let open = Open::on(store, opened()).await;
        make(&open.anyone, &["a", "b", "c"]).await.has_status(200);
        // Each user of a list counts; a list past the limit adds no user and is not counted.
        has_to_wait(&make(&open.anyone, &["d", "e", "f"]).await, 720);
        open.user("d").await.is_problem(404, "not-found");
        make(&open.anyone, &["d", "e"]).await.has_status(200);
        has_to_wait(&make(&open.anyone, &["f"]).await, 720);
        open.advance(719);
        has_to_wait(&make(&open.anyone, &["f"]).await, 1);
        open.advance(1);
        make(&open.anyone, &["f"]).await.has_status(200);
        assert!(open.can_log_in("f").await);
        // They are users like any other.
        let open = open.reopen(Setup::default()).await;
        assert!(open.can_log_in("f").await);
    }

    async fn session_does_not_raise_the_limit_of_an_address(store: Store) {
        let open = Open::on(store, opened()).await;
        uses_up_the_limit_with_sessions(&open).await;
        has_to_wait(&make(&open.anyone, &["f"]).await, 720);
    }

    async fn closed_sign_up_counts_users_created_with_a_session(store: Store) {
        uses_up_the_limit_with_sessions(&Open::on(store, closed()).await).await;
    }

    async fn demo_does_not_limit_sign_up(store: Store) {
        let open = Open::on(store, Setup { demo: true, ..closed() }).await;
        for name in ["a", "b", "c", "d", "e", "f"] {
            make_one(&open.ada, name).await.has_status(200);
        }
        let lists: [&[_]; 2] = [&["g", "h", "i", "j", "k", "l"], &["m", "n", "o", "p", "q", "r"]];
        for (caller, names) in [&open.anyone, &open.ada].into_iter().zip(lists) {
            make(caller, names).await.has_status(200);
        }
    }

    async fn list_longer_than_the_hourly_limit_is_rejected(store: Store) {
        let open = Open::on(store, opened()).await;
        let answer = make(&open.anyone, &["a", "b", "c", "d", "e", "f"]).await;
        let said = "# must have at most 5 items: so many users an hour can be made from an address.";
        assert_eq!(answer.is_problem(422, "unprocessable"), said);
        make(&open.anyone, &["a", "b", "c", "d", "e"]).await.has_status(200);
    }

    async fn two_processes_share_one_limit(store: Store) {
        let open = Open::on(store, opened()).await;
        let another = open.another(&opened()).await;
        make(&open.anyone, &["a", "b", "c"]).await.has_status(200);
        has_to_wait(&make(&another.anyone, &["d", "e", "f"]).await, 720);
        // A session that has ended is not taken for none.
        let ended = open.anyone.bearer("no-session");
        make(&ended, &["x"]).await.is_problem(401, "unauthorized");
    }
}
