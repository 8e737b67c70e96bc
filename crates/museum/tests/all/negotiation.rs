//! The media type, size and speed of bodies, and the response format.

use std::time::Duration;

use http::Method;
use serde_json::json;
use testkit::{Answer, Store};
use web::RequestLimits;

use crate::{
    fixture::{ADA_BASIC, Open, Setup, event, parse, text},
    openapi::operations,
};

const JSON_ONLY: &str = "This operation answers as application/json only.";
const IMAGES_ONLY: &str = "This operation answers as image/png or image/svg+xml only.";

/// A client that ranks HTML first gets the problem as a page.
#[track_caller]
fn is_unacceptable(answer: &Answer, accept: &str) {
    is_not_among(answer, accept, JSON_ONLY);
}

/// Asserts that the problem lists what the operation answers.
#[track_caller]
fn is_not_among(answer: &Answer, accept: &str, said: &str) {
    match accept.contains("text/html") {
        true => answer.is_problem_page(406, "not-acceptable", said),
        false => assert_eq!(answer.is_problem(406, "not-acceptable"), said, "{accept}"),
    }
}

testkit::on_one_engine! {
    async fn unknown_parameter_is_rejected_by_every_operation(open: Open) {
        for operation in operations() {
            let path = format!("{}?bogus=1", operation.path);
            let call = open.ada.call(operation.method.clone(), &path);
            call.json(&json!({})).send().await.has_unknown_parameter("bogus");
        }
    }

    async fn delete_ignores_the_accept_header(open: Open) {
        for accept in ["application/problem+json", "application/problem+xml", "text/html", "image/png"] {
            let made = open.create(&event("Ballet", &["2026-05-20"])).await;
            let one = format!("/v1.1/special-events/{}", text(&made, "eventId"));
            let deleted = open.ada.delete(&one).header("accept", accept).send().await;
            assert_eq!(deleted.has_status(204).text(), "", "{accept}");
            open.ada.get(&one).send().await.is_problem(404, "not-found");
        }
    }

    async fn unacceptable_response_format_gets_406_and_changes_nothing(open: Open) {
        let before = open.create(&event("Ballet", &["2026-05-20"])).await;
        // Each excludes JSON; and whether it accepts images.
        let refusing = [
            ("text/html", false),
            ("application/xml", false),
            ("application/json;q=0", false),
            ("application/json; q=0.000, text/html", false),
            ("*/*;q=0", false),
            ("*/*, application/json;q=0", true),
            ("application/*;q=0, */*;q=0.5", true),
            ("text/*, image/png", true),
            ("application/jsonx", false),
        ];
        let one = format!("/v1.1/special-events/{}", text(&before, "eventId"));
        for (accept, accepts_images) in refusing {
            for operation in operations() {
                let call = open.ada.call(operation.method, &operation.path).header("accept", accept);
                let answer = call.json(&json!({})).send().await;
                match operation.id.as_str() {
                    // It answers without a body, for any Accept header.
                    "deleteSpecialEvent" => drop(answer.has_status(404)),
                    "getTicketQrCode" if accepts_images => drop(answer.is_problem(404, "not-found")),
                    "getTicketQrCode" => is_not_among(&answer, accept, IMAGES_ONLY),
                    _ => is_unacceptable(&answer, accept),
                }
            }
            let call = open.ada.post("/v1.1/special-events").header("accept", accept);
            is_unacceptable(&call.json(&event("Unread", &["2026-05-20"])).send().await, accept);
        }
        open.events("").await.is(200, &json!([before]));
        for accept in [
            "*/*",
            "application/*",
            "application/json",
            "APPLICATION/JSON",
            "application/json;charset=utf-8",
            "application/json;q=0.001",
            "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
            "application/*;q=0, application/json",
            "",
        ] {
            open.ada.get(&one).header("accept", accept).send().await.is(200, &before);
        }
        // And without the header, which the client of this test always sends.
        let request = format!(
            "GET {one} HTTP/1.1\r\nHost: localhost\r\nAuthorization: {ADA_BASIC}\r\nConnection: close\r\n\r\n"
        );
        parse(&open.anyone.raw(request.as_bytes()).await).is(200, &before);
    }

    async fn body_of_another_media_type_gets_415_and_changes_nothing(open: Open) {
        let before = open.create(&event("Ballet", &["2026-05-20"])).await;
        let one = format!("/v1.1/special-events/{}", text(&before, "eventId"));
        let new = event("Unread", &["2026-05-20"]).to_string();
        let places =
            [(Method::POST, "/v1.1/special-events"), (Method::PATCH, &one), (Method::POST, "/v1.1/tickets")];
        for (method, path) in &places {
            for (sent, named) in [
                ("text/plain", "text/plain"),
                ("application/jsonx", "application/jsonx"),
                ("application/xml; charset=utf-8", "application/xml"),
                ("application/x-www-form-urlencoded", "application/x-www-form-urlencoded"),
                ("application/merge-patch+json", "application/merge-patch+json"),
                ("json", "json"),
                ("", ""),
            ] {
                let answer = open.ada.call(method.clone(), path).body(sent, new.clone()).send().await;
                let said = format!("The body must be sent as application/json, not as {named}.");
                assert_eq!(answer.is_problem(415, "unsupported-media-type"), said);
            }
            let answer = open.ada.call(method.clone(), path).send().await;
            let said = "The body must be sent as application/json; the request has no Content-Type.";
            assert_eq!(answer.is_problem(415, "unsupported-media-type"), said);
        }
        open.events("").await.is(200, &json!([before]));
        for fine in ["application/json", "application/json; charset=utf-8", "Application/JSON;x=y"] {
            open.ada.patch(&one).body(fine, "{}").send().await.is(200, &before);
        }
    }

    async fn too_large_body_gets_413_and_changes_nothing(store: Store) {
        let limits = RequestLimits { body_bytes: 300, ..RequestLimits::default() };
        let open = Open::on(store, Setup { limits, ..Setup::default() }).await;
        let said = "The body must be at most 300 bytes long.";
        let padded = |length: usize| {
            let body = event("Ballet", &["2026-05-20"]).to_string();
            format!("{body}{}", " ".repeat(length - body.len()))
        };
        for (method, path) in operations().into_iter().filter_map(|operation| {
            operation.document.get("requestBody").map(|_| (operation.method, operation.path))
        }) {
            for length in [301, 400_000] {
                let call = open.ada.call(method.clone(), &path).body("application/json", padded(length));
                assert_eq!(call.send().await.is_problem(413, "too-large"), said);
            }
        }
        // Chunked, without a Content-Length.
        let head = format!(
            "POST /v1.1/special-events HTTP/1.1\r\nHost: localhost\r\nAuthorization: {ADA_BASIC}\r\n\
             Content-Type: application/json\r\nConnection: close\r\n"
        );
        let piece = format!("96\r\n{}\r\n", &padded(300)[..150]);
        let request = format!("{head}Transfer-Encoding: chunked\r\n\r\n{}0\r\n\r\n", piece.repeat(3));
        let answer = parse(&open.anyone.raw(request.as_bytes()).await);
        assert_eq!(answer.is_problem(413, "too-large"), said);
        // With Expect: 100-continue the answer comes before the body.
        let request = format!("{head}Content-Length: 301\r\nExpect: 100-continue\r\n\r\n");
        let answer = parse(&open.anyone.raw(request.as_bytes()).await);
        assert_eq!(answer.is_problem(413, "too-large"), said);
        open.events("").await.is(200, &json!([]));
        let fits = open.ada.post("/v1.1/special-events").body("application/json", padded(300)).send().await;
        fits.has_status(201);
    }

    async fn body_that_does_not_arrive_gets_408(store: Store) {
        let limits = RequestLimits { body_time: Duration::from_millis(1), ..RequestLimits::default() };
        let open = Open::on(store, Setup { limits, ..Setup::default() }).await;
        for path in ["/v1.1/special-events", "/v1.1/tickets"] {
            let request = format!(
                "POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: {ADA_BASIC}\r\n\
                 Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{{\"name\":"
            );
            let answer = parse(&open.anyone.raw(request.as_bytes()).await);
            answer.is_problem(408, "request-timeout");
        }
    }
}
