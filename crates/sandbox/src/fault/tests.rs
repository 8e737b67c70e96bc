//! Rules as clients send them, and their decisions.

use axum::{
    Router,
    extract::{FromRequest, Request},
    response::IntoResponse,
    routing::get,
};
use serde_json::{Value, json};
use std::time::Duration;
use testkit::{Client, Server};
use utoipa::{PartialSchema, ToSchema, openapi::RefOr};
use web::{Body, Problem, Reply};

use super::*;

async fn read(rule: &Value) -> Result<NewFaultRule, Problem> {
    let request = Request::post("/").header("content-type", "application/json");
    let request = request.body(rule.to_string().into()).unwrap();
    Body::from_request(request, &()).await.map(|Body(new)| new)
}

/// The validation errors of a rule.
async fn errors(rule: Value) -> Vec<(String, String)> {
    let problem = read(&rule).await.expect_err("a problem");
    assert_eq!(problem.status(), 400);
    problem.errors().iter().map(|error| (error.pointer.clone(), error.detail.to_string())).collect()
}

/// A problem with one validation error per pointer.
async fn is_invalid(rule: Value, expected: &[(&str, &str)]) {
    let expected: Vec<_> = expected.iter().map(|(at, why)| ((*at).to_owned(), (*why).to_owned())).collect();
    assert_eq!(errors(rule.clone()).await, expected, "{rule}");
}

/// Rules with the ids 1, 2 and so on.
async fn rules(sent: &[Value]) -> Rules {
    let mut rules = Rules::default();
    for (rule, id) in sent.iter().zip(1..) {
        rules.add(read(rule).await.unwrap(), Uuid::from_u128(id)).unwrap();
    }
    rules
}

fn call() -> CallInfo<'static> {
    CallInfo {
        service: "train",
        operation: Some("create-booking"),
        method: &http::Method::POST,
        path: "/bookings/7/payment",
        address: "2001:db8::1".parse().unwrap(),
        known: Known::Address,
    }
}

/// The same call, whose caller has signed in.
fn signed_in() -> CallInfo<'static> {
    CallInfo { known: Known::Names { user: Some("ada"), client: Some("demo-client") }, ..call() }
}

fn no_number(rule: Uuid) -> u64 {
    panic!("rule {rule} is not counted")
}

fn no_random() -> u64 {
    panic!("the rule needs no random number")
}

/// The rule that decides about a call.
fn decided(rules: &Rules, call: &CallInfo<'_>) -> Option<u128> {
    rules.decide(call, no_number, no_random).rule.map(|id| id.as_u128())
}

#[tokio::test]
async fn rule_is_answered_as_it_was_sent() {
    for sent in [
        json!({"status": 503}),
        json!({"service": "train", "operation": "create-booking", "method": "POST", "path": "/bookings/**", "caller": "ada",
            "every": 3, "status": 429, "detail": "Slow down.", "retry_after": 5, "delay_ms": 100}),
        json!({"probability": 0.25, "seed": 7, "drop": "after", "delay_ms": {"from": 1, "to": 9}}),
        json!({"seed": 9_007_199_254_740_991_i64, "delay_ms": {"mean": 300, "deviation": 50}, "bytes_per_second": 10}),
        json!({"malformed": true, "status": 500, "delay_ms": 0}),
        json!({"drop": "middle", "status": 500}),
        json!({"first": 2, "webhook": 503, "service": "train"}),
        json!({"webhook": "timeout"}),
    ] {
        let rules = rules(std::slice::from_ref(&sent)).await;
        let mut answered = sent.clone();
        answered["id"] = json!(Uuid::from_u128(1));
        let rule = rules.iter().next().unwrap();
        assert_eq!(serde_json::to_value(rule).unwrap(), answered);
        let stored = rules.stored().unwrap();
        let read = Rules::from_stored(&stored).unwrap();
        assert_eq!(read.iter().collect::<Vec<_>>(), [rule], "{stored}");
    }
    assert!(Rules::from_stored("").unwrap().is_empty());
}

#[tokio::test]
async fn all_validation_errors_of_a_rule_are_reported_at_once() {
    is_invalid(
        json!({"service": "zoo", "operation": "", "method": "get", "path": "bookings", "every": 0, "probability": 1.5,
            "status": 200, "retry_after": -1, "delay_ms": 60_001, "drop": "never", "bytes_per_second": 0, "malformed": "yes",
            "webhook": "slow"}),
        &[
            ("#/service", "must be one of: petstore, train, museum"),
            ("#/operation", "must not be empty"),
            ("#/method", "must be one of: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"),
            ("#/path", "must begin with / or **"),
            ("#/every", "must be a whole number from 1 to 1000000"),
            ("#/probability", "must be a number from 0 to 1"),
            ("#/status", "must be a whole number from 400 to 599"),
            ("#/retry_after", "must be a whole number from 0 to 86400"),
            (
                "#/delay_ms",
                "must be milliseconds from 0 to 60000, or an object with from and to, or with mean and deviation",
            ),
            ("#/drop", "must be one of: before, after, middle"),
            ("#/bytes_per_second", "must be a whole number from 1 to 1000000"),
            ("#/malformed", "must be true or false"),
            ("#/webhook", "must be a status from 400 to 599, or timeout"),
        ],
    )
    .await;
}

#[tokio::test]
async fn value_of_the_wrong_type_gets_a_full_sentence() {
    for webhook in [json!(200), json!(true), json!(null), json!({})] {
        is_invalid(
            json!({"webhook": webhook}),
            &[("#/webhook", "must be a status from 400 to 599, or timeout")],
        )
        .await;
    }
}

#[tokio::test]
async fn rule_without_an_effect_is_rejected() {
    let missing = "is required, or another effect: delay_ms, drop, bytes_per_second, malformed or webhook";
    is_invalid(json!({"method": "GET"}), &[("#/status", missing)]).await;
    is_invalid(json!({"malformed": false}), &[("#/status", missing)]).await;
}

#[tokio::test]
async fn contradicting_members_are_rejected() {
    let one = "contradicts every: a rule has one condition";
    is_invalid(
        json!({"status": 500, "every": 2, "first": 2, "probability": 0.5}),
        &[("#/first", one), ("#/probability", one)],
    )
    .await;
    let seed = "needs a probability, or a delay_ms with a distribution";
    is_invalid(json!({"status": 500, "every": 2, "seed": 1}), &[("#/seed", seed)]).await;
    is_invalid(json!({"delay_ms": 5, "seed": 1}), &[("#/seed", seed)]).await;
    let part = "needs status: it is a part of that answer";
    is_invalid(
        json!({"delay_ms": 5, "detail": "x", "retry_after": 1}),
        &[("#/detail", part), ("#/retry_after", part)],
    )
    .await;
    let no_answer = "contradicts drop: a connection that is closed gets no answer";
    let one = "contradicts drop: an answer has one fault besides its status";
    for drop in ["before", "after"] {
        is_invalid(
            json!({"drop": drop, "delay_ms": 1, "status": 500, "bytes_per_second": 1, "malformed": true}),
            &[("#/status", no_answer), ("#/bytes_per_second", one), ("#/malformed", one)],
        )
        .await;
    }
    is_invalid(json!({"drop": "middle", "malformed": true, "status": 500}), &[("#/malformed", one)]).await;
    let slow = "contradicts bytes_per_second: an answer has one fault besides its status";
    is_invalid(json!({"bytes_per_second": 5, "malformed": true}), &[("#/malformed", slow)]).await;
    let calls = "contradicts webhook: it is about calls; make two rules";
    is_invalid(
        json!({"webhook": 500, "method": "GET", "path": "/", "delay_ms": 1}),
        &[("#/method", calls), ("#/path", calls), ("#/delay_ms", calls)],
    )
    .await;
}

#[tokio::test]
async fn incomplete_or_contradicting_distributions_are_rejected() {
    for (delay, expected) in [
        (json!({}), &[("#/delay_ms/from", "is required, with to; or mean and deviation")][..]),
        (json!({"from": 5}), &[("#/delay_ms/to", "is required with from")]),
        (json!({"deviation": 5}), &[("#/delay_ms/mean", "is required with deviation")]),
        (json!({"from": 5, "to": 4}), &[("#/delay_ms/to", "must not be less than from, which is 5")]),
        (json!({"from": 5, "to": 60_001}), &[("#/delay_ms/to", "must be a whole number from 0 to 60000")]),
        (
            json!({"from": 5, "to": 6, "mean": 1, "deviation": 1}),
            &[
                ("#/delay_ms/mean", "contradicts from and to: a delay has one distribution"),
                ("#/delay_ms/deviation", "contradicts from and to: a delay has one distribution"),
            ],
        ),
    ] {
        is_invalid(json!({"delay_ms": delay}), expected).await;
    }
}

#[tokio::test]
async fn sandbox_has_at_most_fifty_rules() {
    let mut rules = rules(&vec![json!({"status": 500}); MOST_RULES]).await;
    let new = read(&json!({"status": 500})).await.unwrap();
    assert_eq!(rules.add(new.clone(), Uuid::max()), Err(TooManyRules));
    assert!(rules.remove(Uuid::from_u128(3)));
    assert!(!rules.remove(Uuid::from_u128(3)));
    assert_eq!(rules.add(new, Uuid::max()).map(|rule| rule.id), Ok(Uuid::max()));
    assert_eq!(rules.iter().count(), MOST_RULES);
    rules.clear();
    assert!(rules.is_empty());
}

#[tokio::test]
async fn call_matches_a_rule_by_everything_that_it_names() {
    for (matched, matches) in [
        (json!({}), true),
        (json!({"service": "train"}), true),
        (json!({"service": "museum"}), false),
        (json!({"operation": "create-booking"}), true),
        (json!({"operation": "get-booking"}), false),
        (json!({"method": "POST"}), true),
        (json!({"method": "GET"}), false),
        (json!({"path": "/bookings/*/payment"}), true),
        (json!({"path": "/bookings/*"}), false),
        (json!({"path": "/bookings/**"}), true),
        (json!({"caller": "2001:DB8:0::1"}), true),
        (json!({"caller": "2001:db8::2"}), false),
    ] {
        let mut rule = matched.clone();
        rule["status"] = json!(500);
        let rules = rules(&[rule]).await;
        assert_eq!(decided(&rules, &call()), matches.then_some(1), "{matched}");
    }
    for (matched, matches) in [
        (json!({"caller": "ada"}), true),
        (json!({"caller": "demo-client"}), true),
        (json!({"caller": "Ada"}), false),
        (json!({"service": "train", "method": "POST", "caller": "ada", "path": "**"}), true),
        (json!({"service": "train", "method": "POST", "caller": "eve", "path": "**"}), false),
        // These decide before.
        (json!({"caller": "2001:db8::1"}), false),
        (json!({}), false),
    ] {
        let mut rule = matched.clone();
        rule["status"] = json!(500);
        let rules = rules(&[rule]).await;
        assert_eq!(decided(&rules, &signed_in()), matches.then_some(1), "{matched}");
        if matches {
            assert_eq!(decided(&rules, &call()), None, "{matched}");
        }
    }
    // A page is not a call of the API, unless the rule names its path.
    let page = |path| CallInfo { operation: None, path, ..call() };
    for path in ["/", "/app/bookings", "/assets/1/ui.js", "/docs/", "/favicon.svg", "/problems/not-found"] {
        assert_eq!(decided(&rules(&[json!({"status": 500})]).await, &page(path)), None, "{path}");
        assert_eq!(
            decided(&rules(&[json!({"status": 500, "path": path})]).await, &page(path)),
            Some(1),
            "{path}"
        );
    }
    for path in ["/oauth/token", "/nowhere", "/apps"] {
        assert_eq!(decided(&rules(&[json!({"status": 500})]).await, &page(path)), Some(1), "{path}");
    }
    let of_operation = rules(&[json!({"status": 500, "operation": "x"})]).await;
    assert_eq!(decided(&of_operation, &CallInfo { operation: None, ..call() }), None);
}

#[tokio::test]
async fn first_rule_that_applies_decides() {
    let rules = rules(&[
        json!({"method": "GET", "status": 500}),
        json!({"method": "POST", "first": 1, "status": 501}),
        json!({"every": 2, "delay_ms": 10}),
        json!({"status": 503, "retry_after": 7, "detail": "Later.", "delay_ms": 20}),
    ])
    .await;
    let mut calls = 0;
    let mut decide = || {
        calls += 1;
        rules.decide(&call(), |_| calls, no_random)
    };
    assert_eq!(decide().status.map(|status| status.status.as_u16()), Some(501));
    // The first call counted for the third rule as well, although the second rule decided.
    let slow =
        Decision { rule: Some(Uuid::from_u128(3)), delay: Duration::from_millis(10), ..Decision::default() };
    assert_eq!(decide(), slow);
    let status = StatusFault {
        status: http::StatusCode::SERVICE_UNAVAILABLE,
        detail: "Later.".into(),
        retry_after: Some(7),
    };
    let last = Decision {
        rule: Some(Uuid::from_u128(4)),
        delay: Duration::from_millis(20),
        status: Some(status),
        ..Decision::default()
    };
    assert_eq!(decide(), last);
    assert_eq!(rules.matching(&call()).counted().map(|id| id.as_u128()).collect::<Vec<_>>(), [2, 3]);
}

#[tokio::test]
async fn number_of_a_call_decides_about_every_and_first() {
    let of = async |condition: Value| {
        let mut rule = condition;
        rule["drop"] = json!("before");
        let rules = rules(&[rule]).await;
        let numbers = 1..=9;
        let hit = |number: &u64| rules.decide(&call(), |_| *number, no_random).drop.is_some();
        numbers.filter(hit).collect::<Vec<_>>()
    };
    assert_eq!(of(json!({"every": 3})).await, [3, 6, 9]);
    assert_eq!(of(json!({"every": 1})).await, (1..=9).collect::<Vec<_>>());
    assert_eq!(of(json!({"first": 2})).await, [1, 2]);
}

#[tokio::test]
async fn probability_is_the_share_of_the_calls() {
    let of = async |probability: f64| {
        let rules = rules(&[json!({"probability": probability, "status": 500})]).await;
        let mut random = seeded::numbers(1, 1);
        (0..10_000).filter(|_| rules.decide(&call(), no_number, &mut random).status.is_some()).count()
    };
    assert_eq!((of(0.0).await, of(1.0).await), (0, 10_000));
    let quarter = of(0.25).await;
    assert!((2350..2650).contains(&quarter), "{quarter}");
}

#[tokio::test]
async fn seeded_rule_decides_the_same_in_each_run_and_needs_no_random_source() {
    let run = async |seed: i64, id: u128| {
        let rule = json!({"probability": 0.5, "seed": seed, "delay_ms": {"from": 0, "to": 1000}});
        let mut rules = Rules::default();
        rules.add(read(&rule).await.unwrap(), Uuid::from_u128(id)).unwrap();
        let decide = |number| rules.decide(&call(), |_| number, no_random).delay;
        (1..=50).map(decide).collect::<Vec<_>>()
    };
    // The id of a rule does not matter: a test that adds the rule again sees the same.
    assert_eq!(run(7, 1).await, run(7, 2).await);
    assert_ne!(run(7, 1).await, run(8, 1).await);
}

#[tokio::test]
async fn deliveries_and_calls_have_rules_of_their_own() {
    let rules =
        rules(&[json!({"webhook": "timeout", "service": "train", "first": 1}), json!({"webhook": 500})])
            .await;
    assert_eq!(decided(&rules, &call()), None);
    let fault = |service, number| rules.matching_delivery(service).decide_delivery(|_| number, no_random);
    assert_eq!(fault("train", 1), Some(WebhookFault::Timeout));
    assert_eq!(fault("train", 2), Some(WebhookFault::Status(500)));
    assert_eq!(fault("museum", 1), Some(WebhookFault::Status(500)));
    let calls = self::rules(&[json!({"status": 500})]).await;
    assert_eq!(calls.matching_delivery("train").decide_delivery(no_number, no_random), None);
}

#[tokio::test]
async fn decision_has_the_effects_of_the_rule() {
    let of = async |rule: Value| rules(&[rule]).await.decide(&call(), no_number, no_random);
    let rule = Some(Uuid::from_u128(1));
    let slow = of(json!({"bytes_per_second": 10})).await;
    assert_eq!(slow, Decision { rule, bytes_per_second: Some(10), ..Decision::default() });
    assert!(!slow.is_nothing());
    let malformed = of(json!({"malformed": true})).await;
    assert_eq!(malformed, Decision { rule, malformed: true, ..Decision::default() });
    let cut = of(json!({"drop": "middle"})).await;
    assert_eq!(cut, Decision { rule, drop: Some(DropPoint::Middle), ..Decision::default() });
    assert!(of(json!({"delay_ms": 0})).await.is_nothing());
    let detail = of(json!({"status": 500})).await.status.unwrap().detail;
    assert_eq!(detail, "A fault rule of the sandbox gives this answer; the call was not done.");
}

#[test]
fn schema_has_every_member_with_its_bounds() {
    let described = |schema: RefOr<utoipa::openapi::schema::Schema>| {
        let RefOr::T(schema) = schema else { panic!("a reference") };
        serde_json::to_value(schema).unwrap()
    };
    let (rule, new) = (described(FaultRule::schema()), described(NewFaultRule::schema()));
    assert_eq!(rule["required"], json!(["id"]));
    assert_eq!(new.get("required"), None);
    assert_eq!(new["properties"].get("id"), None);
    assert_eq!(rule["properties"].as_object().unwrap().len(), 18);
    assert_eq!(
        new["properties"]["status"],
        json!({"type": "integer", "format": "int32", "minimum": 400, "maximum": 599, "examples": [503],
            "description": "The call is not done, and gets a problem with this status."})
    );
    for properties in [&rule["properties"], &new["properties"]] {
        assert_eq!(
            properties["webhook"]["oneOf"],
            json!([{"type": "integer", "format": "int32", "minimum": 400, "maximum": 599},
                {"type": "string", "enum": ["timeout"]}])
        );
        assert_eq!(
            properties["delay_ms"]["oneOf"],
            json!([{"type": "integer", "format": "int64", "minimum": 0, "maximum": 60000},
                {"$ref": "#/components/schemas/DelayDistribution"}])
        );
    }
    let mut components = Vec::new();
    NewFaultRule::schemas(&mut components);
    let names: Vec<_> = components.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["ServiceName", "HttpMethod", "DelayDistribution", "DropPoint"]);
}

#[tokio::test]
async fn client_gets_the_fault_of_the_decision() {
    let decision = Decision::default();
    let decisions = [
        ("/nothing", decision.clone()),
        ("/before", Decision { drop: Some(DropPoint::Before), ..decision.clone() }),
        ("/after", Decision { drop: Some(DropPoint::After), ..decision.clone() }),
        ("/middle", Decision { drop: Some(DropPoint::Middle), ..decision.clone() }),
        ("/malformed", Decision { malformed: true, ..decision.clone() }),
        ("/slow", Decision { bytes_per_second: Some(1_000_000), ..decision }),
    ];
    let mut app = Router::new();
    for (path, decision) in decisions {
        app = app
            .route(path, get(async move || decision.apply_to(Reply(json!({"done": true})).into_response())));
    }
    let server = Server::start(web::ConnectionLimits::default(), |_| app).await;
    let client = Client::new(server.address());
    for cut in ["/before", "/after", "/middle"] {
        assert!(client.get(cut).try_send().await.is_err(), "{cut}");
    }
    // Unlike the others, it has sent the status and a part of the body.
    let raw = client.raw(b"GET /middle HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    assert!(raw.starts_with("HTTP/1.1 200 OK\r\n") && raw.ends_with("\r\n\r\n{\"done"), "{raw}");
    let malformed = client.get("/malformed").send().await;
    assert_eq!(malformed.status, 200);
    assert!(serde_json::from_slice::<Value>(&malformed.body).is_err(), "{}", malformed.text());
    for complete in ["/nothing", "/slow"] {
        client.get(complete).send().await.is(200, &json!({"done": true}));
    }
    server.stop().await;
}
