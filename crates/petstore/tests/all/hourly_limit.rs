//! The hourly limit on calls of a user: exact, for all processes together.

use futures_util::future::join_all;
use identity::ApiKeys;
use petstore::{MIGRATIONS, Petstore, Settings};
use serde_json::json;
use service::{Instance, OauthSettings};
use testkit::{Answer, Client, Server, Store};
use web::{ConnectionLimits, Random};

use crate::{
    answers::pet_with,
    fixture::{As, Open, Setup},
};

const FIND: &str = "/v3/pet/findByStatus";

fn with_limit(calls_per_hour: u32) -> Setup {
    Setup { calls_per_hour, ..Setup::default() }
}

#[track_caller]
fn is_used_up(answer: &Answer, limit: u32, seconds: u32) {
    let said = format!(
        "This caller may make {limit} calls an hour, and has. The next hour starts in {seconds} seconds."
    );
    assert_eq!(answer.is_problem(429, "too-many-requests"), said);
    assert_eq!(answer.header("retry-after"), seconds.to_string());
    assert_eq!(answer.header("www-authenticate"), "");
}

/// How many of `count` concurrent calls were allowed.
async fn at_once(callers: &[As], calls: usize) -> usize {
    let calls = (0..calls).map(|number| callers[number % callers.len()].get(FIND).send());
    let answers = join_all(calls).await;
    for answer in answers.iter().filter(|answer| answer.status != 200) {
        answer.is_problem(429, "too-many-requests");
    }
    answers.iter().filter(|answer| answer.status == 200).count()
}

testkit::on_both_engines! {
    async fn calls_past_the_hourly_limit_get_429_until_the_next_hour(store: Store) {
        let open = Open::on(store, with_limit(5)).await;
        open.advance(900);
        let pets = open.anyone.bearer(&open.token_of("ada", None).await);
        for _ in 0..5 {
            pets.get(FIND).send().await.has_status(200);
        }
        for _ in 0..3 {
            is_used_up(&pets.get(FIND).send().await, 5, 2700);
        }
        open.advance(599);
        is_used_up(&pets.get(FIND).send().await, 5, 2101);
        open.advance(2100);
        let pets = open.anyone.bearer(&open.token_of("ada", None).await);
        is_used_up(&pets.get(FIND).send().await, 5, 1);
        open.advance(1);
        for _ in 0..5 {
            pets.get(FIND).send().await.has_status(200);
        }
        is_used_up(&pets.get(FIND).send().await, 5, 3600);
    }

    async fn all_calls_of_a_user_count_together(store: Store) {
        let open = Open::on(store, with_limit(6)).await;
        open.add(&pet_with("Rex", "id", 1)).await;
        open.pets.get("/v3/pet/1").send().await.has_status(200);
        // Rejected calls count as well.
        open.pets.put("/v3/pet").json(&json!({})).send().await.has_status(400);
        open.ada.delete("/v3/user/nobody").send().await.has_status(404);
        let another_token = open.anyone.bearer(&open.token_of("ada", None).await);
        another_token.delete("/v3/pet/2").send().await.has_status(404);
        open.ada.put("/v3/user/ada").json(&json!({})).send().await.has_status(200);
        for answer in [
            open.pets.get("/v3/pet/1").send().await,
            open.pets.delete("/v3/pet/1").send().await,
            open.pets.post("/v3/pet/1?name=Max").send().await,
            open.pets.get("/v3/pet/findByTags?tags=t").send().await,
            open.pets.post("/v3/pet").json(&pet_with("Max", "id", 1)).send().await,
            open.pets.put("/v3/pet").json(&pet_with("Max", "id", 1)).send().await,
            open.pets.post("/v3/pet/1/uploadImage").body("image/png", "x").send().await,
            open.ada.post("/v3/user").json(&json!({"username": "x"})).send().await,
            open.ada.put("/v3/user/ada").json(&json!({})).send().await,
            open.ada.delete("/v3/user/ada").send().await,
            open.anyone
                .with("cookie", format!("petstore_session={}", open.session_of("ada").await))
                .delete("/v3/user/ada")
                .send()
                .await,
        ] {
            is_used_up(&answer, 6, 3600);
        }
        // Other callers, and calls without credentials, are not limited.
        open.key.get("/v3/pet/1").send().await.is(200, &json!({"id": 1, "name": "Rex", "photoUrls": []}));
        open.key.get("/v3/store/inventory").send().await.has_status(200);
        open.ben.delete("/v3/user/nobody").send().await.has_status(404);
        open.user("ada").await.has_status(200);
        open.anyone.bearer(&open.token_of_a_client().await).get(FIND).send().await.has_status(200);
        open.ada.get("/v3/user/logout").send().await.has_status(200);
    }

    async fn calls_of_clients_and_api_keys_are_counted(store: Store) {
        const INVENTORY: &str = "/v3/store/inventory";
        let open = Open::on(store, with_limit(3)).await;
        let client = open.anyone.bearer(&open.token_of_a_client().await);
        for _ in 0..3 {
            client.get(FIND).send().await.has_status(200);
        }
        is_used_up(&client.get(FIND).send().await, 3, 3600);
        is_used_up(&client.delete("/v3/pet/1").send().await, 3, 3600);
        open.key.get(INVENTORY).send().await.has_status(200);
        open.key.get("/v3/pet/1").send().await.has_status(404);
        open.key.get(INVENTORY).send().await.has_status(200);
        is_used_up(&open.key.get(INVENTORY).send().await, 3, 3600);
        is_used_up(&open.key.get("/v3/pet/1").send().await, 3, 3600);
        // Others are not: a user, another key, and a call without any.
        open.pets.get(FIND).send().await.has_status(200);
        let keys = ApiKeys::new(false, open.db.clone(), open.clock.clone(), Random::system());
        let another = keys.add("another").await.unwrap().unwrap();
        open.anyone.with("api_key", another).get(INVENTORY).send().await.has_status(200);
        open.anyone.get("/v3/store/order/1").send().await.has_status(404);
        open.advance(3600);
        open.key.get(INVENTORY).send().await.has_status(200);
    }

    async fn tokens_of_an_external_issuer_are_counted_by_subject(store: Store) {
        let issuer = Open::on(Store::new(store.engine()), Setup::default()).await;
        let settings = Settings {
            oauth: OauthSettings {
                issuer: issuer.address.clone(),
                audience: issuer.address.clone(),
                ..OauthSettings::default()
            },
            calls_per_hour: 2,
            ..Settings::default()
        };
        let db = store.open("petstore", MIGRATIONS);
        let instance = Instance::new(db, issuer.clock.clone(), Random::system()).at("http://localhost");
        let router = Petstore::open(&settings, instance).await.unwrap().app();
        let server = Server::start(ConnectionLimits::default(), |_| router).await;
        let anyone = As { client: Client::new(server.address()), headers: Vec::new() };
        let (ada, ben) = (issuer.token_of("ada", None).await, issuer.token_of("ben", None).await);
        for token in [ada.as_str(), &ben, &issuer.token_of_a_client().await] {
            let caller = anyone.bearer(token);
            for _ in 0..2 {
                caller.get(FIND).send().await.has_status(200);
            }
            is_used_up(&caller.get(FIND).send().await, 2, 3600);
        }
        // Another token of the same user counts with the first.
        let another = anyone.bearer(&issuer.token_of("ada", None).await);
        is_used_up(&another.get(FIND).send().await, 2, 3600);
        // With the store's own tokens, these are other users with separate limits.
        issuer.pets.get(FIND).send().await.has_status(200);
    }

    async fn concurrent_calls_pass_exactly_up_to_the_limit(store: Store) {
        let open = Open::on(store, with_limit(40)).await;
        assert_eq!(at_once(std::slice::from_ref(&open.pets), 100).await, 40);
        open.advance(3600);
        let pets = open.anyone.bearer(&open.token_of("ada", None).await);
        assert_eq!(at_once(&[pets], 40).await, 40);
    }

    async fn two_processes_share_one_limit(store: Store) {
        let open = Open::on(store, with_limit(60)).await;
        let another = open.another(&with_limit(60)).await;
        assert_eq!(at_once(&[open.pets.clone(), another.pets.clone()], 120).await, 60);
        is_used_up(&open.pets.get(FIND).send().await, 60, 3600);
        is_used_up(&another.pets.get(FIND).send().await, 60, 3600);
        is_used_up(&another.ada.delete("/v3/user/nobody").send().await, 60, 3600);
        // A restart does not reset the limit.
        let open = open.reopen(with_limit(60)).await;
        is_used_up(&open.pets.get(FIND).send().await, 60, 3600);
    }
}
