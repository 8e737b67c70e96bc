//! What every operation has in common: request ids, unknown paths and methods, HEAD, CORS.

use std::collections::BTreeSet;

use http::Method;
use serde_json::json;
use testkit::Answer;

use crate::{answers::pet_with, fixture::Open, openapi::operations};

/// The methods of an `Allow` header.
fn allowed(answer: &Answer) -> BTreeSet<String> {
    answer.header("allow").split(',').map(|method| method.trim().to_owned()).collect()
}

testkit::on_one_engine! {
    async fn problem_document_has_all_its_members(open: Open) {
        let call = open.pets.post("/v3/pet").json(&json!({"status": "lost", "photoUrls": []}));
        let answer = call.header("x-request-id", "visit-1").send().await;
        assert_eq!((answer.status, answer.header("content-type")), (422, "application/problem+json"));
        assert_eq!(
            answer.json(),
            json!({
                "type": "/problems/unprocessable",
                "title": "Unprocessable body",
                "status": 422,
                "detail": "2 things are wrong with this request; see errors.",
                "instance": "visit-1",
                "errors": [
                    {"pointer": "#/name", "detail": "is required"},
                    {"pointer": "#/status", "detail": "must be one of: available, pending, sold"},
                ],
            })
        );
        assert_eq!(answer.header("cache-control"), "no-store");
        for kind in [
            "unprocessable",
            "invalid-request",
            "unauthorized",
            "forbidden",
            "not-found",
            "conflict",
            "too-many-requests",
        ] {
            open.anyone.get(&format!("/problems/{kind}")).send().await.has_status(200);
        }
    }

    async fn well_formed_request_id_of_the_client_is_kept(open: Open) {
        for operation in operations() {
            let call = || open.anyone.call(operation.method.clone(), &operation.path);
            let answer = call().header("x-request-id", "visit-1.A_b").send().await;
            assert_eq!(answer.header("x-request-id"), "visit-1.A_b", "{}", operation.id);
            assert_eq!(answer.header("x-content-type-options"), "nosniff", "{}", operation.id);
            let (one, two) = (call().header("x-request-id", "a b").send().await, call().send().await);
            let made = [one.header("x-request-id"), two.header("x-request-id")];
            assert!(made[0] != made[1] && made.iter().all(|id| id.len() == 32), "{made:?}");
        }
    }

    async fn unknown_path_gets_404(open: Open) {
        for path in [
            "/v3",
            "/v3/",
            "/v3/nothing",
            "/v3/pets",
            "/v3/pet/",
            "/v3/pet/1/",
            "/v3/pet/1/uploadimage",
            "/v3/pet/1/uploadImage/x",
            "/v3/images",
            "/v3/images/",
            "/v3/store",
            "/v3/store/inventory/",
            "/v3/store/order/",
            "/v3/store/order/1/2",
            "/v3/user/",
            "/v3/user/a/b",
            "/V3/pet/1",
            "/v2/pet/1",
            "/pet/1",
            "/v3//pet",
            "/nothing",
        ] {
            for (caller, method) in
                [(&open.anyone, Method::GET), (&open.pets, Method::POST), (&open.key, Method::DELETE)]
            {
                let detail = caller.call(method, path).send().await.is_problem(404, "not-found");
                assert_eq!(detail, "There is nothing at this address. The API begins at /v3; its operations are listed at /docs.", "{path}");
            }
        }
    }

    async fn unsupported_method_gets_405_with_the_allowed_ones(open: Open) {
        let all = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "TRACE", "BREW"];
        for (path, takes) in [
            ("/v3/pet", &["POST", "PUT"][..]),
            ("/v3/pet/findByStatus", &["GET", "HEAD"]),
            ("/v3/pet/findByTags", &["GET", "HEAD"]),
            ("/v3/pet/1", &["GET", "HEAD", "POST", "DELETE"]),
            ("/v3/pet/1/uploadImage", &["POST"]),
            ("/v3/images/dad4bce8-f5cb-4078-a211-995864315e39", &["GET", "HEAD"]),
            ("/v3/store/inventory", &["GET", "HEAD"]),
            ("/v3/store/order", &["POST"]),
            ("/v3/store/order/1", &["GET", "HEAD", "DELETE"]),
            ("/v3/user", &["POST"]),
            ("/v3/user/createWithList", &["POST"]),
            ("/v3/user/login", &["GET", "HEAD"]),
            ("/v3/user/logout", &["GET", "HEAD"]),
            ("/v3/user/ada", &["GET", "HEAD", "PUT", "DELETE"]),
        ] {
            let expected: BTreeSet<_> = takes.iter().map(ToString::to_string).collect();
            for method in all.iter().filter(|method| !takes.contains(method)) {
                let answer = open.anyone.call(method.parse().unwrap(), path).send().await;
                assert_eq!(answer.status, 405, "{method} {path}");
                assert_eq!(allowed(&answer), expected, "{method} {path}");
                if *method != "HEAD" {
                    answer.is_problem(405, "method-not-allowed");
                }
            }
        }
    }

    async fn head_answers_as_get_without_the_body(open: Open) {
        open.add(&pet_with("Rex", "id", 1)).await;
        open.anyone.post("/v3/store/order").json(&json!({"id": 1, "petId": 1})).send().await.has_status(200);
        for (caller, path) in [
            (&open.pets, "/v3/pet/1"),
            (&open.key, "/v3/pet/1"),
            (&open.pets, "/v3/pet/2"),
            (&open.pets, "/v3/pet/findByStatus"),
            (&open.pets, "/v3/pet/findByTags?tags=x"),
            (&open.pets, "/v3/pet/findByTags"),
            (&open.anyone, "/v3/pet/findByStatus"),
            (&open.key, "/v3/store/inventory"),
            (&open.anyone, "/v3/store/inventory"),
            (&open.anyone, "/v3/store/order/1"),
            (&open.anyone, "/v3/store/order/2"),
            (&open.anyone, "/v3/user/ada"),
            (&open.anyone, "/v3/user/logout"),
            (&open.anyone, "/v3/user/login"),
            (&open.anyone, "/v3/images/dad4bce8-f5cb-4078-a211-995864315e39"),
            (&open.anyone, "/v3/nothing"),
        ] {
            for accept in ["application/json", "application/xml"] {
                let get = caller.get(path).header("accept", accept).send().await;
                let head = caller.call(Method::HEAD, path).header("accept", accept).send().await;
                assert_eq!((head.status, head.text().as_str()), (get.status, ""), "{path}");
                for name in ["content-type", "www-authenticate", "vary"] {
                    assert_eq!(head.header(name), get.header(name), "{path} {name}");
                }
            }
        }
    }

    async fn pages_of_any_origin_may_call_the_api_and_read_its_headers(open: Open) {
        for operation in operations() {
            let preflight = open
                .anyone
                .call(Method::OPTIONS, &operation.path)
                .header("origin", "https://pets.example")
                .header("access-control-request-method", operation.method.as_str())
                .header("access-control-request-headers", "authorization,content-type,api_key")
                .send()
                .await;
            let id = &operation.id;
            assert_eq!((preflight.status, preflight.text().as_str()), (200, ""), "{id}");
            assert_eq!(preflight.header("access-control-allow-origin"), "*", "{id}");
            let methods: BTreeSet<_> = preflight.header("access-control-allow-methods").split(',').collect();
            assert!(methods.contains(operation.method.as_str()), "{id}");
            let headers = preflight.header("access-control-allow-headers");
            assert_eq!(headers, "authorization,content-type,api_key", "{id}");
            assert_eq!(preflight.header("access-control-allow-credentials"), "", "{id}");
            let answer = open
                .anyone
                .call(operation.method, &operation.path)
                .header("origin", "https://pets.example")
                .send()
                .await;
            assert_eq!(answer.header("access-control-allow-origin"), "*", "{id}");
            assert_eq!(answer.header("access-control-allow-credentials"), "", "{id}");
            let exposed: BTreeSet<_> = answer.header("access-control-expose-headers").split(',').collect();
            let own = BTreeSet::from([
                "location",
                "retry-after",
                "www-authenticate",
                "x-expires-after",
                "x-rate-limit",
                "x-request-id",
            ]);
            assert_eq!(exposed, own, "{id}");
        }
        // The extra routes, for the sign-in, do not allow other origins.
        for path in ["/", "/healthz", "/problems", "/oauth/authorize", "/oauth/sign-out", "/docs/"] {
            let answer = open.anyone.get(path).header("origin", "https://pets.example").send().await;
            assert_eq!(answer.header("access-control-allow-origin"), "", "{path}");
        }
    }

    async fn implicit_grant_is_rejected(open: Open) {
        let new = identity::oauth::NewClient {
            name: "App".into(),
            redirect_uris: vec!["https://app.example/callback".into()],
            scopes: Vec::new(),
            confidential: false,
        };
        let (client, _) = open.issuer.add_client(new).await.unwrap();
        let path = format!(
            "/oauth/authorize?response_type=token&client_id={}&redirect_uri=https%3A%2F%2Fapp.example%2Fcallback&state=s",
            client.id
        );
        let answer = open.anyone.get(&path).send().await;
        let location = answer.header("location");
        assert!(location.starts_with("https://app.example/callback?"), "{} {location}", answer.status);
        assert!(
            location.contains("error=unsupported_response_type") && location.contains("state=s"),
            "{location}"
        );
    }
}
