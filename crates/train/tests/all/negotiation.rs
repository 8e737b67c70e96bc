//! The media type, size and speed of bodies, and the response format.

use std::time::Duration;

use http::Method;
use serde_json::json;
use testkit::{Answer, Store};
use web::RequestLimits;

use crate::{
    fixture::{BERLIN, GOOD, Open, Setup, TRIP, booking, card, payment, text},
    operations::operations,
};

/// What came over the wire, as far as these tests look at it: the status, and all of it.
#[track_caller]
fn status(answer: &str) -> u16 {
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
    status.unwrap_or_else(|| panic!("no answer: {answer}"))
}

#[track_caller]
fn is_unacceptable(answer: &Answer, accept: &str) {
    let forms = "This operation answers as application/json, application/xml or text/xml only.";
    match accept {
        "text/html" => answer.is_problem_page(406, "not-acceptable", forms),
        "application/problem+xml" => assert_eq!(answer.status, 406),
        _ => assert_eq!(answer.is_problem(406, "not-acceptable"), forms, "{accept}"),
    }
}

/// The operations whose successful answer has no body, for any Accept header.
const SILENT: [&str; 4] = ["delete-booking", "delete-webhook", "test-webhook", "delete-inbox"];

testkit::on_one_engine! {
    async fn unknown_parameter_is_rejected_by_every_operation(open: Open) {
        for operation in operations() {
            let path = format!("{}?bogus=1", operation.path);
            let call = open.ada.call(operation.method.clone(), &path);
            call.json(&booking(TRIP)).send().await.has_unknown_parameter("bogus");
        }
    }

    async fn unacceptable_response_format_gets_406_and_changes_nothing(open: Open) {
        let made = open.ada.hold(TRIP).await;
        let before = open.kept().await;
        for accept in [
            "text/html",
            "application/json;q=0",
            "application/json;q=0, application/xml;q=0.0",
            "*/*;q=0",
            "*/*, application/*;q=0, text/xml;q=0",
            "image/png",
            "application/jsonx",
            "application/problem+xml",
        ] {
            for operation in operations() {
                let call = open.ada.call(operation.method.clone(), &operation.path).header("accept", accept);
                let answer = call.json(&booking(TRIP)).send().await;
                match SILENT.contains(&operation.id.as_str()) {
                    // Other formats: see the tests of tickets.
                    _ if operation.id == "get-booking-qr" => {}
                    true => assert_eq!(answer.status, 404, "{}", operation.id),
                    false => is_unacceptable(&answer, accept),
                }
            }
            open.ada
                .post(&payment(&made))
                .header("accept", accept)
                .json(&card(GOOD))
                .send()
                .await
                .has_status(406);
        }
        assert_eq!(open.kept().await, before);
    }

    async fn operations_without_a_response_body_ignore_the_accept_header(open: Open) {
        let body = json!({"url": "https://app.example.com/hooks"});
        for accept in ["application/problem+json", "application/problem+xml", "text/html", "image/png"] {
            let made = open.ada.hold(TRIP).await;
            let path = format!("/bookings/{}", made["id"].as_str().unwrap());
            let deleted = open.ada.delete(&path).header("accept", accept).send().await;
            assert_eq!(deleted.has_status(204).text(), "", "{accept}");
            let hook = open.ada.post("/webhooks").json(&body).send().await.has_status(201).json();
            let path = format!("/webhooks/{}", text(&hook, "id"));
            let tested = open.ada.post(&format!("{path}/test")).header("accept", accept).send().await;
            assert_eq!(tested.has_status(202).text(), "", "{accept}");
            let deleted = open.ada.delete(&path).header("accept", accept).send().await;
            assert_eq!(deleted.has_status(204).text(), "", "{accept}");
            open.ada.get(&path).send().await.is_problem(404, "not-found");
        }
    }

    async fn accept_header_chooses_the_response_format(open: Open) {
        for (accept, expected) in [
            ("*/*", "application/json"),
            ("", "application/json"),
            ("application/*", "application/json"),
            ("application/json, application/xml", "application/json"),
            ("application/xml, application/json", "application/json"),
            ("application/xml, application/json;q=0.9", "application/xml"),
            ("application/json;q=0.5, application/xml;q=0.6", "application/xml"),
            ("*/*, application/json;q=0", "application/xml"),
            ("*/*;q=0.1, application/xml", "application/xml"),
            ("text/*", "text/xml; charset=utf-8"),
            ("APPLICATION/XML", "application/xml"),
            ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "application/xml"),
        ] {
            for path in [format!("/stations/{BERLIN}"), format!("/trips/{TRIP}"), "/bookings".into()] {
                let answer = open.ada.get(&path).header("accept", accept).send().await;
                assert_eq!((answer.status, answer.header("content-type")), (200, expected), "{accept}");
            }
        }
        // And without the header, which the client of this test always sends.
        let request = format!(
            "GET /stations/{BERLIN} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\r\n",
            open.ada.token()
        );
        let answer = open.anyone.raw(request.as_bytes()).await;
        assert!(answer.contains("content-type: application/json"), "{answer}");
    }

    async fn body_of_another_media_type_gets_415_and_changes_nothing(open: Open) {
        let made = open.ada.hold(TRIP).await;
        let before = open.kept().await;
        let bodies = [("/bookings".to_owned(), booking(TRIP)), (payment(&made), card(GOOD))];
        for (path, body) in &bodies {
            for sent in [
                "text/plain",
                "application/x-www-form-urlencoded",
                "application/jsonx",
                "application/merge-patch+json",
                "application/atom+xml",
                "multipart/form-data; boundary=x",
                "json",
                "",
            ] {
                let answer = open.ada.post(path).body(sent, body.to_string()).send().await;
                let named = sent.split(';').next().unwrap();
                assert_eq!(
                    answer.is_problem(415, "unsupported-media-type"),
                    format!("The body must be sent as application/json or application/xml, not as {named}.")
                );
            }
            let answer = open.ada.post(path).send().await;
            assert_eq!(
                answer.is_problem(415, "unsupported-media-type"),
                "The body must be sent as application/json or application/xml; the request has no Content-Type."
            );
            let call = open.ada.post(path).body("application/json; charset=latin1", body.to_string());
            let detail = call.send().await.is_problem(415, "unsupported-media-type");
            assert_eq!(detail, "The body must be sent in UTF-8, not in latin1.");
        }
        assert_eq!(open.kept().await, before);
    }

    async fn too_large_body_gets_413_and_changes_nothing(store: Store) {
        let limits = RequestLimits { body_bytes: 400, ..RequestLimits::default() };
        let open = Open::on(store, Setup { limits, ..Setup::default() }).await;
        let made = open.ada.hold(TRIP).await;
        let before = open.kept().await;
        let padded = |body: &str, length: usize| format!("{body}{}", " ".repeat(length - body.len()));
        for (path, body) in [("/bookings".to_owned(), booking(TRIP)), (payment(&made), card(GOOD))] {
            for length in [401, 400_000] {
                let call = open.ada.post(&path).body("application/json", padded(&body.to_string(), length));
                let detail = call.send().await.is_problem(413, "too-large");
                assert_eq!(detail, "The body must be at most 400 bytes long.");
            }
        }
        assert_eq!(open.kept().await, before);
        let fits = padded(&booking(TRIP).to_string(), 400);
        open.ada.post("/bookings").body("application/json", fits).send().await.has_status(201);
    }

    async fn body_that_does_not_arrive_gets_408_and_changes_nothing(store: Store) {
        let limits = RequestLimits { body_time: Duration::from_millis(1), ..RequestLimits::default() };
        let open = Open::on(store, Setup { limits, ..Setup::default() }).await;
        for path in ["/bookings", "/bookings/019e0000-0000-7000-8000-000000000000/payment"] {
            let request = format!(
                "{} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\
                 Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{{\"trip\":",
                Method::POST,
                open.ada.token()
            );
            let answer = open.anyone.raw(request.as_bytes()).await;
            assert_eq!(status(&answer), 408, "{answer}");
            assert!(answer.contains("/problems/request-timeout"), "{answer}");
        }
        assert!(open.kept().await.is_empty());
    }
}
