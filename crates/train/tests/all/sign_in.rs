//! Signing in: every operation asks for a token with the scope it needs, and says so.

use jiff::SignedDuration;
use serde_json::json;
use testkit::Answer;

use crate::{
    fixture::{ADDRESS, GOOD, NOTHING, Open, Setup, TRIP, booking, card, each, instance, payment},
    operations::{Operation, operations},
};

const BARE: &str = "Bearer realm=\"Train travel\", \
                    resource_metadata=\"https://trains.example/.well-known/oauth-protected-resource\"";

/// Asserts a problem with this challenge after the common part.
#[track_caller]
fn is_challenge(answer: &Answer, status: u16, kind: &str, detail: &str, more: &str) {
    assert_eq!(answer.is_problem(status, kind), detail);
    assert_eq!(answer.header("www-authenticate"), format!("{BARE}{more}"));
    assert_eq!(answer.header("ratelimit"), "", "the calls of unknown callers are not counted");
    assert_eq!(answer.header("cache-control"), "no-store");
}

#[track_caller]
fn is_missing(answer: &Answer) {
    is_challenge(answer, 401, "unauthorized", "This operation needs an access token, as a bearer token.", "");
}

#[track_caller]
fn is_invalid(answer: &Answer, why: &str) {
    let more = format!(", error=\"invalid_token\", error_description=\"the access token {why}\"");
    is_challenge(answer, 401, "unauthorized", &format!("The access token {why}."), &more);
}

/// What an operation answers with the right token, when its ids do not exist and it has no body.
fn reached(operation: &Operation) -> (u16, &'static str) {
    match operation.id.as_str() {
        "get-stations" | "get-bookings" | "get-webhooks" | "get-inboxes" => (200, ""),
        "create-inbox" => (201, ""),
        "get-booking-qr" | "get-inbox" | "delete-inbox" => (404, "/problems/not-found"),
        "get-trips" => (400, "/problems/invalid-request"),
        "get-station" | "get-trip" | "get-booking" | "delete-booking" => (404, "/problems/not-found"),
        "get-webhook" | "delete-webhook" | "rotate-webhook-secret" | "test-webhook" => {
            (404, "/problems/not-found")
        }
        "create-booking" | "create-booking-payment" | "create-webhook" | "redeliver-webhook" => {
            (415, "/problems/unsupported-media-type")
        }
        other => panic!("{other} is new: say here what it answers, and to whom"),
    }
}

testkit::on_both_engines! {
    async fn all_operations_need_a_token_with_their_scope(open: Open) {
        let (reader, writer) =
            (open.with_scope(&open.ada, "read").await, open.with_scope(&open.ada, "write").await);
        let good = open.ada.token();
        let all = operations();
        assert_eq!(all.len(), 21);
        for operation in &all {
            let Operation { method, path, id, .. } = operation;
            let with = |authorization: &str| {
                open.anyone.call(method.clone(), path).header("authorization", authorization)
            };
            is_missing(&open.anyone.call(method.clone(), path).send().await);
            // Credentials are checked first.
            let odd =
                open.anyone.call(method.clone(), &path.replace(NOTHING, "x")).header("accept", "text/plain");
            is_missing(&odd.body("text/plain", "nonsense").send().await);
            let odd = format!("{path}?limit=x&date=x");
            let answer = open.anyone.call(method.clone(), &odd).send().await;
            match id.as_str() {
                // An operation that reads nothing rejects parameters before it asks for credentials.
                "create-inbox" => assert_eq!(answer.status, 400),
                _ => is_missing(&answer),
            }
            for other in ["Basic YWRhOmFkYQ==", "garbage", "Bearer", &good] {
                is_missing(&with(other).send().await);
            }
            for garbage in ["Bearer x", "Bearer a.b.c", "Bearer ...", "bearer null"] {
                let answer = with(garbage).send().await;
                assert_eq!(answer.status, 401, "{id} {garbage}");
                assert!(
                    answer
                        .header("www-authenticate")
                        .starts_with(&format!("{BARE}, error=\"invalid_token\""))
                );
            }
            let forged = format!("Bearer {}x", &good[..good.len() - 1]);
            assert_eq!(with(&forged).send().await.status, 401, "{id}");
            let in_address = format!("{path}?access_token={good}");
            let why = "an access token must be in the Authorization header, not in the address";
            is_challenge(
                &open.anyone.call(method.clone(), &in_address).send().await,
                400,
                "invalid-request",
                &format!("The credentials cannot be read: {why}."),
                &format!(", error=\"invalid_request\", error_description=\"{why}\""),
            );
            // A token without the scope gets 403, with the missing scope.
            let needed = operation.scope();
            let (little, enough) = if needed == "read" { (&writer, &reader) } else { (&reader, &writer) };
            is_challenge(
                &little.call(method.clone(), path).send().await,
                403,
                "forbidden",
                &format!("The access token needs the scopes {needed}."),
                &format!(", error=\"insufficient_scope\", scope=\"{needed}\""),
            );
            for person in [enough, &open.ada] {
                let answer = person.call(method.clone(), path).send().await;
                let (status, kind) = reached(operation);
                assert_eq!(answer.status, status, "{id}: {}", answer.text());
                assert_eq!(answer.json()["type"].as_str().unwrap_or_default(), kind, "{id}");
                assert_eq!(answer.header("www-authenticate"), "", "{id}");
                assert_ne!(answer.header("ratelimit"), "", "{id}");
            }
        }
        open.clock.advance(SignedDuration::from_mins(10));
        for Operation { method, path, .. } in &all {
            is_invalid(&open.ada.call(method.clone(), path).send().await, "has expired");
        }
    }

    async fn problems_in_xml_have_the_challenge(open: Open) {
        let answer = open.anyone.get("/bookings").header("accept", "application/xml").send().await;
        assert_eq!((answer.status, answer.header("content-type")), (401, "application/problem+xml"));
        assert_eq!(answer.header("www-authenticate"), BARE);
        let reader = open.with_scope(&open.ada, "read").await;
        let answer = reader.post("/bookings").header("accept", "application/xml").send().await;
        assert_eq!((answer.status, answer.header("content-type")), (403, "application/problem+xml"));
    }

    async fn insufficient_scope_gets_403_and_changes_nothing(open: Open) {
        let made = open.ada.hold(TRIP).await;
        let before = open.kept().await;
        let reader = open.with_scope(&open.ada, "read").await;
        reader.book(&booking(TRIP)).await.is_problem(403, "forbidden");
        reader.cancel(&made).await.is_problem(403, "forbidden");
        reader.pay(&made, &card(GOOD)).await.is_problem(403, "forbidden");
        open.anyone.post("/bookings").json(&booking(TRIP)).send().await.is_problem(401, "unauthorized");
        open.anyone.post(&payment(&made)).json(&card(GOOD)).send().await.is_problem(401, "unauthorized");
        assert_eq!(open.kept().await, before);
        // A token with only the scope for writing cannot read.
        assert_eq!(each(&reader.get("/bookings").send().await, "id").len(), 1);
        let writer = open.with_scope(&open.ada, "write").await;
        writer.get("/bookings").send().await.is_problem(403, "forbidden");
        writer.cancel(&made).await.has_status(204);
    }

    async fn token_for_another_audience_is_rejected(open: Open) {
        // Of another service at another address, on the same database and so with the same key.
        let instance = instance(&Setup::default(), &open.db, &open.clock).at("https://elsewhere.example");
        let elsewhere = train::SERVICE.authorization_server(&instance).await.unwrap();
        let token = elsewhere.token_for(open.ada.account, Some("read write")).await.unwrap();
        let call = open.anyone.get("/bookings").header("authorization", &format!("Bearer {token}"));
        assert_eq!(call.send().await.status, 401);
    }

    async fn metadata_of_the_challenge_names_the_authorization_server(open: Open) {
        let metadata = open.anyone.get("/.well-known/oauth-protected-resource").send().await;
        let metadata = metadata.has_status(200).json();
        assert_eq!(metadata["resource"], ADDRESS);
        assert_eq!(metadata["authorization_servers"], json!([ADDRESS]));
        assert_eq!(metadata["scopes_supported"], json!(["read", "write"]));
        let server = open.anyone.get("/.well-known/oauth-authorization-server").send().await;
        let server = server.has_status(200).json();
        assert_eq!(server["issuer"], ADDRESS);
        assert_eq!(server["token_endpoint"], format!("{ADDRESS}/oauth/token"));
    }
}
