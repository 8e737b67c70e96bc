//! What every operation has in common: problems, request ids, unknown paths and methods, HEAD, CORS.

use std::collections::BTreeSet;

use http::Method;
use serde_json::json;
use testkit::Answer;

use crate::{
    fixture::{Open, event, general, text},
    openapi::operations,
};

/// The methods of an `Allow` header.
fn allowed(answer: &Answer) -> BTreeSet<String> {
    answer.header("allow").split(',').map(|method| method.trim().to_owned()).collect()
}

testkit::on_one_engine! {
    async fn problem_document_has_all_its_members(open: Open) {
        let answer = open
            .ada
            .get("/v1.1/special-events?limit=0&page=0")
            .header("x-request-id", "visit-1")
            .send()
            .await;
        assert_eq!((answer.status, answer.header("content-type")), (400, "application/problem+json"));
        assert_eq!(
            answer.json(),
            json!({
                "type": "/problems/invalid-request",
                "title": "Invalid request",
                "status": 400,
                "detail": "2 things are wrong with this request; see errors.",
                "instance": "visit-1",
                "errors": [
                    {"pointer": "?page", "detail": "must be a whole number, 1 or more"},
                    {"pointer": "?limit", "detail": "must be a whole number from 1 to 30"},
                ],
            })
        );
        let answer =
            open.ada.get("/v1.1/special-events?limit=0").header("x-request-id", "visit-2").send().await;
        assert_eq!(answer.json()["detail"], "?limit must be a whole number from 1 to 30.");
        // Without errors where there are none, and never from a cache.
        let answer = open.event("019e0000-0000-7000-8000-000000000000").await;
        assert_eq!(
            answer.json(),
            json!({
                "type": "/problems/not-found",
                "title": "Not found",
                "status": 404,
                "detail": "There is no special event with this id.",
                "instance": answer.header("x-request-id"),
            })
        );
        assert_eq!(answer.header("cache-control"), "no-store");
        assert_eq!(answer.header("content-length"), answer.body.len().to_string());
    }

    async fn well_formed_request_id_of_the_client_is_kept(open: Open) {
        let call = |path: &str| open.anyone.get(path);
        let longest = "x".repeat(128);
        for path in [
            "/v1.1/museum-hours",
            "/v1.1/museum-hours?limit=0",
            "/v1.1/special-events",
            "/nothing",
            "/healthz",
        ] {
            for id in ["a", "visit-1", "A.b_C-9", &longest] {
                let answer = call(path).header("x-request-id", id).send().await;
                assert_eq!(answer.header("x-request-id"), id, "{path}");
                if answer.status >= 400 {
                    assert_eq!(answer.json()["instance"], id, "{path}");
                }
                assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
            }
            let too_long = "x".repeat(129);
            let mut made = BTreeSet::new();
            for id in ["", "a b", "a,b", "a/b", "a\"b", "<a>", "a:b", "naïve", &too_long] {
                let answer = call(path).header("x-request-id", id).send().await;
                let given = answer.header("x-request-id");
                assert!(given.len() == 32 && given.bytes().all(|byte| byte.is_ascii_hexdigit()), "{given}");
                made.insert(given.to_owned());
            }
            assert_eq!(made.len(), 9, "each its own");
        }
    }

    async fn unknown_path_gets_404(open: Open) {
        for path in [
            "/nothing",
            "/v1.1",
            "/v1.1/",
            "/v1.1/nothing",
            "/v1.1/special-events/",
            "/v1.1/tickets/dad4bce8-f5cb-4078-a211-995864315e39",
            "/v1.1/tickets/dad4bce8-f5cb-4078-a211-995864315e39/pkpass/",
            "/v1.1/special-events/dad4bce8-f5cb-4078-a211-995864315e39/dates",
            "/V1.1/museum-hours",
            "/v1.1/Museum-Hours",
            "/v1.1//museum-hours",
            "/v1/museum-hours",
            "/museum-hours",
            "/metrics",
            "/openapi.yaml",
        ] {
            for client in [&open.anyone, &open.ada] {
                for method in [Method::GET, Method::POST] {
                    let detail = client.call(method, path).send().await.is_problem(404, "not-found");
                    assert_eq!(detail, "There is nothing at this address. The API begins at /v1.1; its operations are listed at /docs.", "{path}");
                }
            }
        }
        let detail = open.anyone.get("/problems/nothing").send().await.is_problem(404, "not-found");
        assert_eq!(detail, "There is no problem of this name; see /problems for all of them.");
    }

    async fn unsupported_method_gets_405_with_the_allowed_ones(open: Open) {
        let id = "dad4bce8-f5cb-4078-a211-995864315e39";
        let all = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "TRACE", "BREW", "PROPFIND"];
        for (path, takes) in [
            ("/v1.1/museum-hours", &["GET", "HEAD"][..]),
            ("/v1.1/special-events", &["GET", "HEAD", "POST"]),
            (&format!("/v1.1/special-events/{id}"), &["GET", "HEAD", "PATCH", "DELETE"]),
            ("/v1.1/tickets", &["POST"]),
            (&format!("/v1.1/tickets/{id}/pkpass"), &["GET", "HEAD"]),
            (&format!("/v1.1/tickets/{id}/qr"), &["GET", "HEAD"]),
            (&format!("/v1.1/tickets/{id}/admissions"), &["GET", "HEAD", "POST"]),
            ("/", &["GET", "HEAD"]),
            ("/healthz", &["GET", "HEAD"]),
            ("/readyz", &["GET", "HEAD"]),
            ("/openapi.json", &["GET", "HEAD"]),
            ("/problems", &["GET", "HEAD"]),
            ("/problems/not-found", &["GET", "HEAD"]),
        ] {
            let expected: BTreeSet<_> = takes.iter().map(ToString::to_string).collect();
            for method in all.iter().filter(|method| !takes.contains(method)) {
                let answer = open.anyone.call(method.parse().unwrap(), path).send().await;
                assert_eq!(answer.status, 405, "{method} {path}");
                assert_eq!(allowed(&answer), expected, "{method} {path}");
                if *method != "HEAD" {
                    let detail = answer.is_problem(405, "method-not-allowed");
                    let said = "This address exists, but does not support this method. The Allow header lists the supported methods.";
                    assert_eq!(detail, said);
                }
            }
        }
    }

    async fn head_answers_as_get_without_the_body(open: Open) {
        let created = open.create(&event("Ballet", &["2026-05-20"])).await;
        let ticket = open.buy(&general("2026-05-20")).await.has_status(201).json();
        for path in [
            "/v1.1/museum-hours".to_owned(),
            "/v1.1/special-events".into(),
            format!("/v1.1/special-events/{}", text(&created, "eventId")),
            format!("/v1.1/tickets/{}/pkpass", text(&ticket, "ticketId")),
            format!("/v1.1/tickets/{}/qr", text(&ticket, "ticketId")),
            format!("/v1.1/tickets/{}/admissions", text(&ticket, "ticketId")),
            "/v1.1/special-events/019e0000-0000-7000-8000-000000000000".into(),
            "/v1.1/special-events?limit=0".into(),
            "/v1.1/nothing".into(),
            "/".into(),
            "/healthz".into(),
            "/readyz".into(),
            "/openapi.json".into(),
            "/problems".into(),
            "/problems/not-found".into(),
            "/docs/".into(),
        ] {
            let get = open.ada.get(&path).send().await;
            let head = open.ada.call(Method::HEAD, &path).send().await;
            assert_eq!((head.status, head.text().as_str()), (get.status, ""), "{path}");
            assert_eq!(head.header("content-type"), get.header("content-type"), "{path}");
            assert_ne!(head.header("x-request-id"), "", "{path}");
        }
        let anonymous = open.anyone.call(Method::HEAD, "/v1.1/special-events").send().await;
        assert_eq!(anonymous.status, 401);
        assert_eq!(anonymous.header("www-authenticate"), "Basic realm=\"Museum\", charset=\"UTF-8\"");
    }

    async fn pages_of_any_origin_may_call_the_api_and_read_its_headers(open: Open) {
        for operation in operations() {
            let preflight = open
                .anyone
                .call(Method::OPTIONS, &operation.path)
                .header("origin", "https://tickets.example")
                .header("access-control-request-method", operation.method.as_str())
                .header("access-control-request-headers", "authorization,content-type,x-request-id")
                .send()
                .await;
            let id = &operation.id;
            assert_eq!((preflight.status, preflight.text().as_str()), (200, ""), "{id}");
            assert_eq!(preflight.header("access-control-allow-origin"), "*", "{id}");
            let methods: BTreeSet<_> = preflight.header("access-control-allow-methods").split(',').collect();
            assert_eq!(methods, BTreeSet::from(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]), "{id}");
            let headers = preflight.header("access-control-allow-headers");
            assert_eq!(headers, "authorization,content-type,x-request-id", "{id}");
            assert_eq!(preflight.header("access-control-max-age"), "3600", "{id}");
            assert_eq!(preflight.header("access-control-allow-credentials"), "", "{id}");
        }
        for (client, path, status) in [
            (&open.anyone, "/v1.1/museum-hours", 200),
            (&open.ada, "/v1.1/special-events", 200),
            (&open.anyone, "/v1.1/special-events", 401),
            (&open.ada, "/v1.1/special-events?limit=0", 400),
            (&open.ada, "/v1.1/special-events/019e0000-0000-7000-8000-000000000000", 404),
            (&open.ada, "/v1.1/tickets", 405),
            (&open.ada, "/v1.1/nothing", 404),
        ] {
            let answer = client.get(path).header("origin", "https://tickets.example").send().await;
            assert_eq!(answer.status, status, "{path}");
            assert_eq!(answer.header("access-control-allow-origin"), "*", "{path}");
            assert_eq!(answer.header("access-control-allow-credentials"), "", "{path}");
            let exposed: BTreeSet<_> = answer.header("access-control-expose-headers").split(',').collect();
            let own = BTreeSet::from(["location", "retry-after", "www-authenticate", "x-request-id"]);
            assert_eq!(exposed, own, "{path}");
        }
        // Extra routes do not allow other origins.
        for path in ["/", "/healthz", "/readyz", "/problems", "/problems/not-found", "/docs/", "/nothing"] {
            let answer = open.anyone.get(path).header("origin", "https://tickets.example").send().await;
            assert_eq!(answer.header("access-control-allow-origin"), "", "{path}");
        }
    }
}
