//! With an external issuer: its endpoints in the document, and our own keys for what we send.

use axum::{Router, routing::get};
use jsonwebtoken::{Algorithm, DecodingKey, Validation, jwk::JwkSet};
use serde_json::{Value, json};
use service::{Instance, OauthSettings};
use testkit::{Address, Client, Server, Store, receiver::Receiver};
use train::{MIGRATIONS, SERVICE, Settings, Train};
use web::{Clock, ConnectionLimits, Random};

use crate::fixture::{ADDRESS, START, Setup, TRIP, booking, instance};

/// An issuer that says where its endpoints are, if it says anything.
async fn issuer(says_so: bool) -> (String, Server) {
    let address = Address::free().await;
    let url = address.url();
    let mut description = json!({"issuer": url, "jwks_uri": format!("{url}/keys")});
    if says_so {
        description["authorization_endpoint"] = format!("{url}/authorize").into();
        description["token_endpoint"] = format!("{url}/token").into();
    }
    let router = Router::new()
        .route("/.well-known/openid-configuration", get(async move || web::Reply(description)))
        .route("/keys", get(async || web::Reply(json!({"keys": []}))));
    (url, address.serve(ConnectionLimits::default(), router))
}

/// The service with the tokens of this issuer.
async fn open(store: &Store, issuer: &str) -> (Train, Clock) {
    let clock = Clock::manual(START.parse().unwrap());
    let oauth = OauthSettings { issuer: issuer.into(), audience: issuer.into(), ..OauthSettings::default() };
    let settings =
        Settings { oauth, webhook_networks: vec!["127.0.0.0/8".parse().unwrap()], ..Settings::default() };
    let db = store.open("train", MIGRATIONS);
    let instance = instance(&Setup::default(), &db, &clock);
    (Train::open(settings, instance).await.unwrap(), clock)
}

async fn serve(train: &Train) -> (Client, Server) {
    let router = train.app();
    let server = Server::start(ConnectionLimits::default(), |_| router).await;
    (Client::new(server.address()), server)
}

async fn scheme(train: &Train) -> Value {
    let (client, _server) = serve(train).await;
    client.get("/openapi.json").send().await.has_status(200).json()["components"]["securitySchemes"]["OAuth2"]
        .clone()
}

testkit::on_both_engines! {
    async fn document_names_the_endpoints_of_the_issuer(store: Store) {
        let (url, _running) = issuer(true).await;
        let (train, _) = open(&store, &url).await;
        let scopes = json!({
            "read": "see stations, trips and your bookings", "write": "book, pay and cancel for you",
        });
        let flow = json!({
            "authorizationUrl": format!("{url}/authorize"), "tokenUrl": format!("{url}/token"),
            "refreshUrl": format!("{url}/token"), "scopes": scopes,
        });
        assert_eq!(scheme(&train).await, json!({"type": "oauth2", "flows": {"authorizationCode": flow}}));
        let (client, _server) = serve(&train).await;
        // The documentation page reads the document, and has no client there.
        let page = client.get("/docs/").send().await.has_status(200).text();
        assert!(page.contains("/openapi.json") && !page.contains("client-id"), "{page}");
    }

    async fn document_names_the_metadata_of_an_unreachable_issuer(store: Store) {
        let (silent, _running) = issuer(false).await;
        let address = Address::free().await;
        let away = address.url();
        drop(address);
        for url in [silent, away] {
            let (train, _) = open(&store, &url).await;
            let discovery = format!("{url}/.well-known/openid-configuration");
            assert_eq!(scheme(&train).await, json!({"type": "openIdConnect", "openIdConnectUrl": discovery}));
        }
    }

    async fn webhook_token_is_signed_by_our_own_key(store: Store) {
        // Another authorization server is the issuer.
        let elsewhere = Store::new(testkit::Engine::Sqlite);
        let db = elsewhere.open("train", MIGRATIONS);
        let address = Address::free().await;
        let (url, clock) = (address.url(), Clock::manual(START.parse().unwrap()));
        let instance = Instance::new(db, clock, Random::system()).at(&url);
        let account = SERVICE.accounts(&instance).unwrap().add("ada", "correct horse".into()).await.unwrap();
        let issuer = SERVICE.authorization_server(&instance).await.unwrap();
        let _issuing = address.serve(ConnectionLimits::default(), issuer.router());
        let token = issuer.token_for(account, Some("read write")).await.unwrap();

        let (train, _) = open(&store, &url).await;
        let (client, _server) = serve(&train).await;
        let call = |path: &str| client.post(path).header("authorization", &format!("Bearer {token}"));
        let subscriber = Receiver::start().await;
        let hook = subscriber.url("ada");
        let subscribed = call("/webhooks").json(&json!({"url": hook.as_str()})).send().await;
        subscribed.has_status(201);
        call("/bookings").json(&booking(TRIP)).send().await.has_status(201);
        let running = tokio::spawn(train.clone().run(std::future::pending()));
        let got = subscriber.wait_for("ada", 1).await;
        running.abort();

        let sent = got[0].header("authorization").strip_prefix("Bearer ").unwrap();
        let keys = client.get("/oauth/jwks.json").header("origin", "https://app.example.com").send().await;
        assert_eq!(keys.header("access-control-allow-origin"), "*");
        let keys: JwkSet = serde_json::from_value(keys.has_status(200).json()).unwrap();
        let kid = jsonwebtoken::decode_header(sent).unwrap().kid.unwrap();
        let key = DecodingKey::from_jwk(keys.find(&kid).unwrap()).unwrap();
        let mut validation = Validation::new(Algorithm::RS256);
        validation.set_audience(&[hook.as_str()]);
        validation.set_issuer(&[ADDRESS]);
        validation.validate_exp = false;
        let claims = jsonwebtoken::decode::<Value>(sent, &key, &validation).unwrap().claims;
        assert_eq!((&claims["sub"], &claims["scope"]), (&json!(account.to_string()), &json!("read")));
        // This service rejects the token.
        let opened = client.get("/stations").header("authorization", &format!("Bearer {sent}")).send().await;
        opened.is_problem(401, "unauthorized");
        // There are no other routes of an authorization server.
        for path in ["/oauth/authorize", "/.well-known/oauth-authorization-server"] {
            client.get(path).send().await.is_problem(404, "not-found");
        }
    }
}
