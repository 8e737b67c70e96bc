//! Bodies that are malformed, too large, or of another media type are rejected by every operation with a body.

use http::Method;
use serde_json::json;
use testkit::Store;

use crate::{
    answers::parse,
    fixture::{As, Open, Setup},
};

/// Every operation that takes a document, with a caller that may call it.
fn takers(open: &Open) -> [(Method, &'static str, &As); 6] {
    [
        (Method::POST, "/v3/pet", &open.pets),
        (Method::PUT, "/v3/pet", &open.pets),
        (Method::POST, "/v3/store/order", &open.anyone),
        (Method::POST, "/v3/user", &open.ada),
        (Method::POST, "/v3/user/createWithList", &open.ada),
        (Method::PUT, "/v3/user/ada", &open.ada),
    ]
}

testkit::on_both_engines! {
    async fn largest_valid_pet_is_stored_completely(open: Open) {
        // Everything at its longest, in characters that take the most room.
        let photos: Vec<_> = (0..100).map(|_| "🐕".repeat(2000)).collect();
        let tags: Vec<_> =
            (0..100).map(|at| json!({"id": at, "name": format!("{at:03}{}", "🐕".repeat(197))})).collect();
        let sent = json!({"id": 5, "name": "🐕".repeat(200), "photoUrls": photos, "tags": tags});
        open.pets.post("/v3/pet").json(&sent).send().await.is(200, &sent);
        open.pet(5).await.is(200, &sent);
        let tag = format!("007{}", "%F0%9F%90%95".repeat(197));
        open.pets.get(&format!("/v3/pet/findByTags?tags={tag}")).send().await.is(200, &json!([sent]));
        let xml = open
            .pets
            .get("/v3/pet/5")
            .header("accept", "application/xml")
            .send()
            .await
            .has_status(200)
            .text();
        let call = open.pets.put("/v3/pet").body("application/xml", xml);
        call.send().await.is(200, &sent);
    }
}

testkit::on_one_engine! {
    async fn malformed_json_gets_400(open: Open) {
        let before = open.dump().await;
        let deep = |left: &str, right: &str| format!("{}{}", left.repeat(100_000), right.repeat(100_000));
        let broken = "is not valid JSON: ";
        let texts: Vec<(Vec<u8>, &str)> = vec![
            ("".into(), "is empty; "),
            (" \n".into(), broken),
            ("{".into(), broken),
            ("{\"name\":}".into(), broken),
            ("{\"name\":\"a\",}".into(), broken),
            ("{'name':'a'}".into(), broken),
            ("{} {}".into(), broken),
            ("[] []".into(), broken),
            ("name=a".into(), broken),
            ("<pet/>".into(), broken),
            ("\u{feff}{}".into(), broken),
            ("{\"name\":\"\\ud800\"}".into(), broken),
            ("{\"username\":\"\\udc00\\ud800\"}".into(), broken),
            ("[{\"username\":\"\\ud800x\"}]".into(), broken),
            ("{\"\\ud800\":1}".into(), broken),
            ("{\"name\":\"\\x41\"}".into(), broken),
            ("{\"name\":\"nul \0 byte\"}".into(), broken),
            ("{\"id\":01}".into(), broken),
            ("{\"id\":NaN}".into(), broken),
            (deep("[", "]").into(), broken),
            (deep("[", "").into(), broken),
            (deep("{\"a\":", "").into(), broken),
            (format!("{{\"name\":{}}}", deep("[", "]")).into(), broken),
            (b"{\"name\":\"\xff\"}".to_vec(), "is not UTF-8"),
            (b"\xff\xfe{\0}\0".to_vec(), "is not UTF-8"),
        ];
        for (body, said) in &texts {
            for (method, path, caller) in takers(&open) {
                let answer = caller.call(method, path).body("application/json", body.clone()).send().await;
                let detail = answer.is_problem(400, "invalid-request");
                let shown = String::from_utf8_lossy(&body[..body.len().min(40)]);
                assert!(
                    detail.starts_with(&format!("# {said}")) && detail.len() < 200,
                    "{path} {shown}: {detail}"
                );
                assert_eq!(answer.json()["errors"][0]["pointer"], "#");
            }
        }
        assert_eq!(open.dump().await, before);
    }

    async fn repeated_member_gets_400(open: Open) {
        let before = open.dump().await;
        for (body, pointer) in [
            ("{\"name\":\"a\",\"name\":\"b\",\"photoUrls\":[]}", "#/name"),
            ("{\"id\":1,\"\\u0069d\":2}", "#/id"),
            ("{\"tags\":[{},{\"name\":\"a\",\"name\":\"a\"}]}", "#/tags/1/name"),
            ("[{\"username\":\"a\",\"username\":\"b\"}]", "#/0/username"),
            ("{\"unknown\":{\"a\":1,\"a\":1}}", "#/unknown/a"),
        ] {
            for (method, path, caller) in takers(&open) {
                let answer = caller.call(method, path).body("application/json", body).send().await;
                answer.is_invalid(&[(pointer, "is given more than once")]);
            }
        }
        assert_eq!(open.dump().await, before);
    }

    async fn body_of_another_media_type_gets_415(open: Open) {
        let before = open.dump().await;
        for (method, path, caller) in takers(&open) {
            let taken = match path {
                "/v3/user/createWithList" => "application/json",
                _ => "application/json, application/xml or application/x-www-form-urlencoded",
            };
            for sent in [
                "text/plain",
                "application/octet-stream",
                "application/jsonx",
                "multipart/form-data",
                "json",
                "image/svg+xml",
                "",
            ] {
                let answer = caller.call(method.clone(), path).body(sent, "{}").send().await;
                let said = format!("The body must be sent as {taken}, not as {sent}.");
                assert_eq!(answer.is_problem(415, "unsupported-media-type"), said, "{path}");
            }
            let answer = caller.call(method.clone(), path).send().await;
            let said = format!("The body must be sent as {taken}; the request has no Content-Type.");
            assert_eq!(answer.is_problem(415, "unsupported-media-type"), said, "{path}");
            let answer =
                caller.call(method.clone(), path).body("application/json; charset=latin1", "{}").send().await;
            assert_eq!(
                answer.is_problem(415, "unsupported-media-type"),
                "The body must be sent in UTF-8, not in latin1."
            );
            // A list of users is JSON only.
            let xml = caller.call(method.clone(), path).body("application/xml", "<x/>").send().await;
            let form = caller
                .call(method.clone(), path)
                .body("application/x-www-form-urlencoded", "x=%")
                .send()
                .await;
            let (xml_expected, form_expected) = match path {
                "/v3/user/createWithList" => (415, 415),
                _ => (400, 400),
            };
            assert_eq!((xml.status, form.status), (xml_expected, form_expected), "{path}");
        }
        assert_eq!(open.dump().await, before);
    }

    async fn body_of_a_mebibyte_and_one_byte_gets_413(open: Open) {
        let before = open.dump().await;
        let said = "The body must be at most 1048576 bytes long.";
        let padded = |body: &str, length: usize| format!("{body}{}", " ".repeat(length - body.len()));
        for (method, path, caller) in takers(&open) {
            let body = padded("{}", 1024 * 1024 + 1);
            let answer = caller.call(method.clone(), path).body("application/json", body).send().await;
            assert_eq!(answer.is_problem(413, "too-large"), said, "{path}");
        }
        let body = padded("<pet/>", 1024 * 1024 + 1);
        let answer = open.pets.post("/v3/pet").body("application/xml", body).send().await;
        assert_eq!(answer.is_problem(413, "too-large"), said);
        let body = format!("petId=1&x={}", "y".repeat(1024 * 1024));
        let answer =
            open.anyone.post("/v3/store/order").body("application/x-www-form-urlencoded", body).send().await;
        assert_eq!(answer.is_problem(413, "too-large"), said);
        assert_eq!(open.dump().await, before);
        // A mebibyte is not.
        let body = padded("{\"name\":\"a\",\"photoUrls\":[]}", 1024 * 1024);
        open.pets.post("/v3/pet").body("application/json", body).send().await.has_status(200);
    }

    async fn body_that_does_not_arrive_gets_408(store: Store) {
        let limits = web::RequestLimits {
            body_time: std::time::Duration::from_millis(1),
            ..web::RequestLimits::default()
        };
        let mut open = Open::on(store, Setup::default()).await;
        open = open.reopen(Setup { limits, ..Setup::default() }).await;
        let before = open.dump().await;
        for (path, content_type, caller) in [
            ("/v3/pet", "application/json", &open.pets),
            ("/v3/store/order", "application/x-www-form-urlencoded", &open.pets),
            ("/v3/user/createWithList", "application/json", &open.ada),
            ("/v3/pet/1/uploadImage", "image/png", &open.pets),
        ] {
            let (_, token) = &caller.headers[0];
            let request = format!(
                "POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: {token}\r\nContent-Type: {content_type}\r\n\
                 Content-Length: 9\r\n\r\n{{\"name\":"
            );
            parse(&open.anyone.client.raw(request.as_bytes()).await).is_problem(408, "request-timeout");
        }
        assert_eq!(open.dump().await, before);
    }
}
