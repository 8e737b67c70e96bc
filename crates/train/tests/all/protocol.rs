//! What every operation has in common: problems, request ids, unknown paths and methods, HEAD, CORS.

use std::collections::BTreeSet;

use http::Method;
use serde_json::json;
use testkit::Answer;

use crate::{
    fixture::{BERLIN, NOTHING, Open, PARIS, TRIP, text},
    operations::operations,
};

/// The methods of an `Allow` header.
fn allowed(answer: &Answer) -> BTreeSet<String> {
    answer.header("allow").split(',').map(|method| method.trim().to_owned()).collect()
}

testkit::on_one_engine! {
    async fn problem_document_has_all_its_members_in_both_formats(open: Open) {
        let path = "/stations?limit=0&page=0";
        let answer = open.ada.get(path).header("x-request-id", "trip-1").send().await;
        assert_eq!((answer.status, answer.header("content-type")), (400, "application/problem+json"));
        assert_eq!(
            answer.json(),
            json!({
                "type": "/problems/invalid-request",
                "title": "Invalid request",
                "status": 400,
                "detail": "2 things are wrong with this request; see errors.",
                "instance": "trip-1",
                "errors": [
                    {"pointer": "?page", "detail": "must be a whole number, 1 or more"},
                    {"pointer": "?limit", "detail": "must be a whole number from 1 to 100"},
                ],
            })
        );
        assert_eq!(answer.header("cache-control"), "no-store");
        for accept in ["application/xml", "text/xml", "application/problem+xml, application/xml;q=0.5"] {
            let call = open.ada.get(path).header("x-request-id", "trip-2").header("accept", accept);
            let answer = call.send().await;
            assert_eq!(
                (answer.status, answer.header("content-type")),
                (400, "application/problem+xml"),
                "{accept}"
            );
            assert_eq!(
                answer.text(),
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?><problem xmlns=\"urn:ietf:rfc:7807\">\
                 <type>/problems/invalid-request</type><title>Invalid request</title><status>400</status>\
                 <detail>2 things are wrong with this request; see errors.</detail><instance>trip-2</instance><errors>\
                 <error><pointer>?page</pointer><detail>must be a whole number, 1 or more</detail></error>\
                 <error><pointer>?limit</pointer><detail>must be a whole number from 1 to 100</detail></error>\
                 </errors></problem>"
            );
        }
    }

    async fn well_formed_request_id_of_the_client_is_kept(open: Open) {
        for path in ["/stations", "/stations?limit=0", "/bookings", "/nothing", "/healthz"] {
            for id in ["a", "trip-1", "A.b_C-9"] {
                let answer = open.ada.get(path).header("x-request-id", id).send().await;
                assert_eq!(answer.header("x-request-id"), id, "{path}");
                assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
            }
            for id in ["", "a b", "<a>"] {
                let answer = open.ada.get(path).header("x-request-id", id).send().await;
                assert_eq!(answer.header("x-request-id").len(), 32, "{path}");
            }
        }
    }

    async fn unknown_path_gets_404(open: Open) {
        let payments = format!("/bookings/{NOTHING}/payments");
        let one = format!("/bookings/{NOTHING}/payment/{NOTHING}");
        for path in [
            "/nothing",
            "/stations/",
            "/Stations",
            "//stations",
            "/v1/stations",
            "/trips/",
            "/bookings/",
            &payments,
            &one,
            "/metrics",
            "/openapi.yaml",
            "/webhook",
        ] {
            for method in [Method::GET, Method::POST, Method::DELETE] {
                let detail = open.anyone.call(method.clone(), path).send().await.is_problem(404, "not-found");
                assert_eq!(detail, "There is nothing at this address. The API begins at /; its operations are listed at /docs.", "{path}");
                open.ada.call(method, path).send().await.is_problem(404, "not-found");
            }
            let answer = open.anyone.get(path).header("accept", "application/xml").send().await;
            assert_eq!(
                (answer.status, answer.header("content-type")),
                (404, "application/problem+xml"),
                "{path}"
            );
        }
    }

    async fn unsupported_method_gets_405_with_the_allowed_ones(open: Open) {
        let all = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "TRACE", "BREW"];
        for (path, takes) in [
            ("/stations".to_owned(), &["GET", "HEAD"][..]),
            (format!("/stations/{NOTHING}"), &["GET", "HEAD"]),
            ("/trips".into(), &["GET", "HEAD"]),
            (format!("/trips/{NOTHING}"), &["GET", "HEAD"]),
            ("/bookings".into(), &["GET", "HEAD", "POST"]),
            (format!("/bookings/{NOTHING}"), &["DELETE", "GET", "HEAD"]),
            (format!("/bookings/{NOTHING}/payment"), &["POST"]),
            ("/".into(), &["GET", "HEAD"]),
            ("/healthz".into(), &["GET", "HEAD"]),
            ("/readyz".into(), &["GET", "HEAD"]),
            ("/openapi.json".into(), &["GET", "HEAD"]),
            ("/problems".into(), &["GET", "HEAD"]),
            ("/problems/sold-out".into(), &["GET", "HEAD"]),
        ] {
            let expected: BTreeSet<_> = takes.iter().map(ToString::to_string).collect();
            for method in all.iter().filter(|method| !takes.contains(method)) {
                let answer = open.anyone.call(method.parse().unwrap(), &path).send().await;
                assert_eq!((answer.status, allowed(&answer)), (405, expected.clone()), "{method} {path}");
                if *method != "HEAD" {
                    answer.is_problem(405, "method-not-allowed");
                }
            }
        }
    }

    async fn head_answers_as_get_without_the_body(open: Open) {
        let made = open.ada.hold(TRIP).await;
        let trips = format!("/trips?origin={BERLIN}&destination={PARIS}&date=2026-05-20");
        for path in [
            "/stations".to_owned(),
            "/stations?limit=0".into(),
            format!("/stations/{BERLIN}"),
            format!("/stations/{NOTHING}"),
            trips,
            "/trips".into(),
            format!("/trips/{TRIP}"),
            "/bookings".into(),
            format!("/bookings/{}", text(&made, "id")),
            format!("/bookings/{NOTHING}"),
            "/nothing".into(),
            "/".into(),
            "/healthz".into(),
            "/openapi.json".into(),
            "/problems/sold-out".into(),
        ] {
            for accept in ["application/json", "application/xml"] {
                let get = open.ada.get(&path).header("accept", accept).send().await;
                let head = open.ada.call(Method::HEAD, &path).header("accept", accept).send().await;
                assert_eq!((head.status, head.text().as_str()), (get.status, ""), "{path}");
                for header in ["content-type", "cache-control", "allow"] {
                    assert_eq!(head.header(header), get.header(header), "{path} {header}");
                }
                assert_eq!(head.header("ratelimit").is_empty(), get.header("ratelimit").is_empty(), "{path}");
            }
        }
        let anonymous = open.anyone.call(Method::HEAD, "/bookings").send().await;
        assert_eq!((anonymous.status, anonymous.text().as_str()), (401, ""));
        assert!(anonymous.header("www-authenticate").starts_with("Bearer "));
    }

    async fn pages_of_any_origin_may_call_the_api_and_read_its_headers(open: Open) {
        for operation in operations() {
            let preflight = open
                .anyone
                .call(Method::OPTIONS, &operation.path)
                .header("origin", "https://tickets.example")
                .header("access-control-request-method", operation.method.as_str())
                .header("access-control-request-headers", "authorization,content-type,idempotency-key")
                .send()
                .await;
            let id = &operation.id;
            assert_eq!((preflight.status, preflight.text().as_str()), (200, ""), "{id}");
            assert_eq!(preflight.header("access-control-allow-origin"), "*", "{id}");
            let methods: BTreeSet<_> = preflight.header("access-control-allow-methods").split(',').collect();
            assert_eq!(methods, BTreeSet::from(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]), "{id}");
            let headers = preflight.header("access-control-allow-headers");
            assert_eq!(headers, "authorization,content-type,idempotency-key", "{id}");
            assert_eq!(preflight.header("access-control-max-age"), "3600", "{id}");
            assert_eq!(preflight.header("access-control-allow-credentials"), "", "{id}");
        }
        let origin = ("origin", "https://tickets.example");
        let calls = [
            (open.ada.get("/stations"), 200),
            (open.ada.post("/bookings").json(&crate::fixture::booking(TRIP)), 201),
            (open.ada.delete(&format!("/bookings/{NOTHING}")), 404),
            (open.anyone.get("/stations"), 401),
            (open.ada.get("/stations?limit=0"), 400),
            (open.ada.call(Method::PUT, "/stations"), 405),
            (open.anyone.get("/nothing"), 404),
        ];
        for (call, status) in calls {
            let answer = call.header(origin.0, origin.1).send().await;
            assert_eq!(answer.status, status);
            assert_eq!(answer.header("access-control-allow-origin"), "*", "{status}");
            assert_eq!(answer.header("access-control-allow-credentials"), "", "{status}");
            let exposed: BTreeSet<_> = answer.header("access-control-expose-headers").split(',').collect();
            let own =
                BTreeSet::from(["location", "ratelimit", "retry-after", "www-authenticate", "x-request-id"]);
            assert_eq!(exposed, own, "{status}");
        }
        // Extra routes do not allow other origins.
        for path in ["/", "/healthz", "/problems", "/docs/", "/oauth/authorize", "/oauth/sign-up"] {
            let answer = open.anyone.get(path).header(origin.0, origin.1).send().await;
            assert_eq!(answer.header("access-control-allow-origin"), "", "{path}");
        }
    }
}
