//! Invalid requests: each is rejected with a problem, and changes nothing.

use http::Method;
use serde_json::json;

use crate::fixture::{ADA_BASIC, Open, event, parse, text};

impl Open {
    async fn tickets_sold(&self) -> i64 {
        let count = self.db.read(|tx| tx.row("SELECT count(*) FROM ticket", &[], |row| row.get::<i64>(0)));
        count.await.unwrap_or_else(|error: db::Error| panic!("{error}")).unwrap()
    }
}

/// Bodies that are not a JSON object, with the start of the error for each.
fn bodies() -> Vec<(Vec<u8>, &'static str)> {
    let broken = "is not valid JSON: ";
    let deep = |open: &str, close: &str| format!("{}{}", open.repeat(100_000), close.repeat(100_000));
    let texts = [
        ("", "is empty; a JSON object is required"),
        ("   \n", broken),
        ("{", broken),
        ("}", broken),
        ("{\"name\"", broken),
        ("{\"name\":}", broken),
        ("{\"name\":\"a\",}", broken),
        ("{\"name\":\"a\" \"price\":1}", broken),
        ("{'name':'a'}", broken),
        ("{name:1}", broken),
        ("{} {}", broken),
        ("{}x", broken),
        ("name=a&price=1", broken),
        ("<event/>", broken),
        ("\u{feff}{}", broken),
        ("{\"name\":\"\\ud800\"}", broken),
        ("{\"name\":\"\\x41\"}", broken),
        ("{\"name\":\"line\nbreak\"}", broken),
        ("{\"name\":\"nul \0 byte\"}", broken),
        ("{\"price\":01}", broken),
        ("{\"price\":1.}", broken),
        ("{\"price\":.5}", broken),
        ("{\"price\":+1}", broken),
        ("{\"price\":1e}", broken),
        ("{\"price\":NaN}", broken),
        ("{\"price\":Infinity}", broken),
        ("{\"price\":0x10}", broken),
        ("[]", "must be a JSON object"),
        ("[{}]", "must be a JSON object"),
        ("null", "must be a JSON object"),
        ("true", "must be a JSON object"),
        ("12", "must be a JSON object"),
        ("1e999999999", "must be a JSON object"),
        ("\"{}\"", "must be a JSON object"),
        (&deep("[", "]"), broken),
        (&deep("[", ""), broken),
        (&deep("{\"a\":", ""), broken),
        (&format!("{{\"name\":{}}}", deep("[", "]")), broken),
        (&format!("{}1{}", "{\"a\":".repeat(100_000), "}".repeat(100_000)), broken),
    ];
    let mut bodies: Vec<_> = texts.iter().map(|(text, said)| (text.as_bytes().to_vec(), *said)).collect();
    for bytes in [&b"{\"name\":\"\xff\"}"[..], b"\xff\xfe{\0}\0", b"{\"name\":\"\xc3\"}", b"\xed\xa0\x80"] {
        bodies.push((bytes.to_vec(), "is not UTF-8"));
    }
    bodies
}

testkit::on_one_engine! {
    async fn body_that_is_not_a_json_object_is_rejected_by_every_operation(open: Open) {
        let before = open.create(&event("Ballet", &["2026-05-20"])).await;
        let one = format!("/v1.1/special-events/{}", text(&before, "eventId"));
        for (body, said) in bodies() {
            for (method, path) in [
                (Method::POST, "/v1.1/special-events"),
                (Method::PATCH, one.as_str()),
                (Method::POST, "/v1.1/tickets"),
            ] {
                let call = open.ada.call(method, path).body("application/json", body.clone());
                let answer = call.send().await;
                let detail = answer.is_problem(400, "invalid-request");
                let shown = String::from_utf8_lossy(&body[..body.len().min(40)]);
                assert!(detail.starts_with(&format!("# {said}")), "{shown}: {detail}");
                assert!(detail.len() < 200, "{detail}");
                assert_eq!(answer.json()["errors"].as_array().unwrap().len(), 1);
                assert_eq!(answer.json()["errors"][0]["pointer"], "#");
            }
        }
        open.event(text(&before, "eventId")).await.is(200, &before);
        open.events("?limit=30&endDate=2026-12-31").await.is(200, &json!([before]));
        assert_eq!(open.tickets_sold().await, 0);
    }

    async fn members_of_wrong_size_or_type_are_rejected_with_their_pointer(open: Open) {
        let before = open.create(&event("Ballet", &["2026-05-20"])).await;
        let one = format!("/v1.1/special-events/{}", text(&before, "eventId"));
        let digits = "9".repeat(100_000);
        let long = format!("\"{}\"", "é".repeat(100_000));
        for (member, value, said) in [
            ("name", long.as_str(), "must be at most 200 characters long, not 100000"),
            ("name", "\"\\u0000\"", "must not contain the control character U+0000"),
            ("name", &digits, "must be text"),
            ("name", "[[[[[[[[]]]]]]]]", "must be text"),
            ("price", &digits, "must be a decimal number of at most 28 digits"),
            ("price", &format!("-{digits}"), "must be a decimal number of at most 28 digits"),
            ("price", &format!("0.{digits}"), "must be a decimal number of at most 28 digits"),
            ("price", &format!("1e{digits}"), "must be a decimal number of at most 28 digits"),
            ("price", &format!("1e-{digits}"), "must be a decimal number of at most 28 digits"),
            ("dates", &digits, "must be a list"),
            ("dates", "{\"0\":\"2026-05-20\"}", "must be a list"),
            (
                "dates",
                &format!("[{}null]", "null,".repeat(99_999)),
                "must have at most 366 items, not 100000",
            ),
        ] {
            let body = format!("{{\"{member}\":{value}}}");
            let answer = open.ada.patch(&one).body("application/json", body).send().await;
            answer.is_invalid(&[(&format!("#/{member}"), said)]);
        }
        // Every one of 366 items is named.
        let body = format!("{{\"dates\":[{}0]}}", "0,".repeat(365));
        let answer = open.ada.patch(&one).body("application/json", body).send().await;
        assert_eq!(
            answer.is_problem(400, "invalid-request"),
            "366 things are wrong with this request; see errors."
        );
        assert_eq!(answer.json()["errors"][365]["pointer"], "#/dates/365");
        // Unknown members may have any value.
        let body = format!("{{\"\":{{\"$ref\":[{digits}]}},\"a/b~c\\u0000\":{long},\"eventid\":null}}");
        open.ada.patch(&one).body("application/json", body).send().await.is(200, &before);
        open.event(text(&before, "eventId")).await.is(200, &before);
    }

    async fn repeated_member_is_rejected(open: Open) {
        let before = open.create(&event("Ballet", &["2026-05-20"])).await;
        let one = format!("/v1.1/special-events/{}", text(&before, "eventId"));
        for (body, pointer) in [
            ("{\"name\":\"Yeti\",\"name\":\"Yeti\"}", "#/name"),
            ("{\"name\":\"Yeti\",\"price\":1,\"\\u006eame\":\"Sasquatch\"}", "#/name"),
            ("{\"sponsor\":[{\"name\":\"A\",\"name\":\"B\"}]}", "#/sponsor/0/name"),
        ] {
            for (method, path) in [
                (Method::POST, "/v1.1/special-events"),
                (Method::PATCH, one.as_str()),
                (Method::POST, "/v1.1/tickets"),
            ] {
                let answer = open.ada.call(method, path).body("application/json", body).send().await;
                answer.is_invalid(&[(pointer, "is given more than once")]);
            }
        }
        open.events("").await.is(200, &json!([before]));
        assert_eq!(open.tickets_sold().await, 0);
    }

    async fn path_or_query_that_is_not_utf_8_is_rejected(open: Open) {
        for (path, pointer) in [
            ("/v1.1/special-events/%ff", "{eventId}"),
            ("/v1.1/special-events/%C3%28", "{eventId}"),
            ("/v1.1/tickets/%ff/pkpass", "{ticketId}"),
            ("/v1.1/special-events?startDate=%ff", "?"),
            ("/v1.1/special-events?%ff", "?"),
        ] {
            let answer = open.ada.get(path).send().await;
            answer.is_invalid(&[(pointer, "has percent codes that are not UTF-8")]);
        }
        open.ada
            .delete("/v1.1/special-events/%ff")
            .send()
            .await
            .is_invalid(&[("{eventId}", "has percent codes that are not UTF-8")]);
        // Unencoded bytes are rejected by the HTTP parser.
        for address in [&b"/v1.1/special-events/\xff"[..], b"/v1.1/museum-hours?limit=\xff", b"/v1.1/\xc3("] {
            let request =
                [b"GET ", address, b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"].concat();
            let answer = open.anyone.raw(&request).await;
            assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
        }
        // Codes for a slash or a dot are part of the id, not of the path.
        for id in ["..%2fmuseum-hours", "%2e%2e%2fmuseum-hours", "%25ff"] {
            let said = "must be a UUID like 3be6453c-03eb-4357-ae5a-984a0e574a54";
            open.event(id).await.is_invalid(&[("{eventId}", said)]);
        }
    }

    async fn malformed_request_is_rejected_and_the_next_one_answered(open: Open) {
        for nonsense in [
            &b"\0\0\0\0\r\n\r\n"[..],
            b"GET\r\n\r\n",
            b"GET /v1.1/museum-hours HTTP/9.9\r\n\r\n",
            b"GET /v1.1/museum-hours HTTP/1.1\r\nHost museum\r\n\r\n",
            b"POST /v1.1/tickets HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
            b"POST /v1.1/tickets HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
        ] {
            let answer = open.anyone.raw(nonsense).await;
            let shown = String::from_utf8_lossy(nonsense);
            assert!(answer.starts_with("HTTP/1.1 400 "), "{shown}: {answer}");
        }
        let head = format!("POST /v1.1/tickets HTTP/1.1\r\nHost: localhost\r\nAuthorization: {ADA_BASIC}\r\n");
        let broken = format!(
            "{head}Content-Type: application/json\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"
        );
        let answer = parse(&open.anyone.raw(broken.as_bytes()).await);
        answer.is_invalid(&[("#", "broke off before its end")]);
        assert_eq!(open.tickets_sold().await, 0);
        open.anyone.get("/v1.1/museum-hours").send().await.has_status(200);
    }
}
