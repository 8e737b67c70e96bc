//! The hourly limit on calls from one address without valid credentials.

use crate::support::sample;
use axum::{
    Router,
    routing::{get, post},
};
use http::{HeaderMap, StatusCode};
use jiff::SignedDuration;
use testkit::{Answer, Client, Engine, Store};
use tokio::{net::TcpListener, sync::watch};
use web::{
    Background, Clock, ConnectionLimits, Phase, Problem, Proxies, Random, Reply, RequestLimits, Result,
    Service, Site, openapi::ApiRoutes, problem::UNAUTHORIZED, routes,
};

#[utoipa::path(get, path = "/orders/{id}", security(()))]
async fn read() -> Reply<&'static str> {
    Reply("an order")
}

#[utoipa::path(delete, path = "/orders/{id}", security(("key" = [])))]
async fn delete() -> Reply<&'static str> {
    Reply("deleted")
}

#[utoipa::path(get, path = "/secrets", security(("key" = [])))]
async fn secret(headers: HeaderMap) -> Result<Reply<&'static str>> {
    match headers.get("key") {
        Some(key) if key == "right" => Ok(Reply("a secret")),
        _ => Err(Problem::new(&UNAUTHORIZED, "The key is wrong.")),
    }
}

#[utoipa::path(post, path = "/orders", security((), ("key" = [])))]
async fn place() -> Reply<&'static str> {
    Reply("placed")
}

/// A service that allows three calls, and trusts `X-Forwarded-For`.
struct Open {
    client: Client,
    clock: Clock,
    _store: Store,
    _phase: watch::Sender<Phase>,
}

async fn start() -> Open {
    let (store, clock) = (Store::new(Engine::Sqlite), Clock::manual("2026-05-13T10:10:00Z".parse().unwrap()));
    let (api, openapi) = ApiRoutes::new("/v1", utoipa::openapi::OpenApi::default())
        .routes(routes!(read, delete))
        .routes(routes!(place))
        .routes(routes!(secret))
        .finish();
    let service = Service {
        api,
        openapi,
        background: Background::new("sample", clock.clone()),
        limits: RequestLimits { anonymous_calls_per_hour: 3, ..RequestLimits::default() },
        extra_routes: Router::new()
            .route("/oauth/token", post(async || StatusCode::UNAUTHORIZED))
            .route("/.well-known/server", get(async || "metadata")),
        ..sample(&store)
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = Client::new(listener.local_addr().unwrap());
    let proxies = Proxies::new(vec!["127.0.0.0/8".parse().unwrap()]);
    let site = Site {
        name: "test",
        address: String::new(),
        proxies,
        limits: ConnectionLimits::default(),
        tls: None,
        traces: None,
    };
    let (phase, followed) = watch::channel(Phase::Serving);
    let router = service.into_app();
    tokio::spawn(web::serve(site, listener, router, Random::system(), followed));
    Open { client, clock, _store: store, _phase: phase }
}

impl Open {
    async fn read_from(&self, address: &str) -> Answer {
        self.client.get("/v1/orders/7").header("x-forwarded-for", address).send().await
    }
}

#[track_caller]
fn is_used_up(answer: &Answer, seconds: u32) {
    let said = format!(
        "This address may make 3 calls an hour without valid credentials or to operations that need none, and has. The next \
         hour starts in {seconds} seconds."
    );
    assert_eq!(answer.is_problem(429, "too-many-requests"), said);
    assert_eq!(answer.header("retry-after"), seconds.to_string());
}

#[tokio::test]
async fn calls_past_the_hourly_limit_of_an_address_get_429_until_the_next_hour() {
    let open = start().await;
    let from = "203.0.113.7";
    // All operations that need no credentials count together.
    open.read_from(from).await.has_status(200);
    open.client.post("/v1/orders").header("x-forwarded-for", from).send().await.has_status(200);
    open.client
        .call("HEAD".parse().unwrap(), "/v1/orders/7")
        .header("x-forwarded-for", from)
        .send()
        .await
        .has_status(200);
    let refused = open.read_from(from).await;
    is_used_up(&refused, 3000);
    // A page of another site can read why.
    assert_eq!(refused.header("access-control-allow-origin"), "*");
    is_used_up(&open.client.post("/v1/orders").header("x-forwarded-for", from).send().await, 3000);
    // Credentials that the operation does not need change nothing.
    let signed_in = open.client.get("/v1/orders/7").header("authorization", "Bearer x");
    is_used_up(&signed_in.header("x-forwarded-for", from).send().await, 3000);
    // Other operations have their own limits, and the limit is separate for each address.
    open.client.delete("/v1/orders/7").header("x-forwarded-for", from).send().await.has_status(200);
    open.client.get("/openapi.json").header("x-forwarded-for", from).send().await.has_status(200);
    open.read_from("203.0.113.8").await.has_status(200);
    open.clock.advance(SignedDuration::from_secs(2999));
    is_used_up(&open.read_from(from).await, 1);
    open.clock.advance(SignedDuration::from_secs(1));
    open.read_from(from).await.has_status(200);
}

#[tokio::test]
async fn calls_with_wrong_credentials_count() {
    let open = start().await;
    let from = "203.0.113.7";
    let call = async |key: &str| {
        open.client.get("/v1/secrets").header("key", key).header("x-forwarded-for", from).send().await
    };
    for _ in 0..4 {
        call("right").await.has_status(200);
    }
    for _ in 0..3 {
        call("wrong").await.is_problem(401, "unauthorized");
    }
    is_used_up(&call("wrong").await, 3000);
    is_used_up(&open.read_from(from).await, 3000);
    // Callers with valid credentials behind the same address are not limited by it.
    call("right").await.has_status(200);
}

#[tokio::test]
async fn calls_to_the_sign_in_count_once_each() {
    let open = start().await;
    let from = "203.0.113.7";
    let call = async || open.client.post("/oauth/token").header("x-forwarded-for", from).send().await;
    for _ in 0..3 {
        call().await.has_status(401);
    }
    is_used_up(&call().await, 3000);
    is_used_up(&open.read_from(from).await, 3000);
    let metadata = open.client.get("/.well-known/server").header("x-forwarded-for", from);
    metadata.send().await.has_status(200);
    for _ in 0..4 {
        open.client.post("/oauth/token").send().await.has_status(401);
    }
}

#[tokio::test]
async fn ipv6_addresses_of_one_64_count_together() {
    let open = start().await;
    for address in ["2001:db8:1:2::1", "2001:db8:1:2::2", "2001:db8:1:2:ffff::3"] {
        open.read_from(address).await.has_status(200);
    }
    is_used_up(&open.read_from("2001:db8:1:2::4").await, 3000);
    open.read_from("2001:db8:1:3::1").await.has_status(200);
}

#[tokio::test]
async fn calls_from_loopback_do_not_count() {
    let open = start().await;
    for _ in 0..4 {
        open.client.get("/v1/orders/7").send().await.has_status(200);
        open.read_from("127.0.0.1").await.has_status(200);
        open.read_from("::1").await.has_status(200);
    }
}
