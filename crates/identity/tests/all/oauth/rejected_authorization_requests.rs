//! Authorization requests that are refused: on a page while the client or its address is unknown, else by an answer to the
//! client.

use testkit::Answer;
use url::Url;

use super::fixture::{APP, CALLBACK, Harness, Pairs, encode};

/// An error page without a redirect.
#[track_caller]
fn on_a_page(what: &str, answer: &Answer) {
    assert_eq!(answer.status, 400, "{what}: {}", answer.text());
    assert!(!answer.headers.contains_key("location"), "{what}");
    assert!(!answer.headers.contains_key("refresh"), "{what}");
    assert_eq!(answer.header("content-type"), "text/html; charset=utf-8", "{what}");
    assert!(answer.text().contains("<h1>This request cannot be answered</h1>"), "{what}: {}", answer.text());
}

/// An error that is redirected to the client, with its state and the issuer.
#[track_caller]
fn to_the_client(what: &str, answer: &Answer, redirect_uri: &str, error: &str, issuer: &str) {
    assert_eq!(answer.status, 303, "{what}: {}", answer.text());
    assert_eq!(answer.header("cache-control"), "no-store", "{what}");
    let location = Url::parse(answer.header("location")).unwrap();
    let (start, _) = location.as_str().split_once('?').unwrap();
    assert_eq!(start, redirect_uri, "{what}");
    assert_eq!(location.fragment(), None, "{what}");
    let pairs: Vec<_> = location.query_pairs().collect();
    let names: Vec<_> = pairs.iter().map(|(name, _)| name.as_ref()).collect();
    assert_eq!(names, ["error", "error_description", "state", "iss"], "{what}: {location}");
    assert_eq!(pairs[0].1, error, "{what}: {location}");
    let plain = pairs[1].1.chars().all(|c| matches!(c, ' '..='~') && !matches!(c, '"' | '\\'));
    assert!(plain && !pairs[1].1.is_empty(), "{what}: {location}");
    assert_eq!(pairs[2].1, "st/ate", "{what}");
    assert_eq!(pairs[3].1, issuer, "{what}");
}

testkit::on_one_engine! {
    async fn unregistered_client_or_address_gets_an_error_page(harness: Harness) {
        let service = &harness.service;
        let (app, _) = service.register("App", &["read"], false).await;
        let long = "x".repeat(65);
        let cases: &[(&str, Pairs<'_>)] = &[
            ("no client", &[("client_id", "")]),
            ("an unknown client", &[("client_id", "nobody")]),
            ("a client's id in capitals", &[("client_id", "DEMO")]),
            ("a client's id with a blank", &[("client_id", "demo ")]),
            ("a client's id that is too long", &[("client_id", &long)]),
            ("two clients", &[("client_id", "demo"), ("client_id", "demo")]),
            ("no address", &[("redirect_uri", "")]),
            ("two addresses", &[("redirect_uri", CALLBACK), ("redirect_uri", CALLBACK)]),
            ("two states", &[("state", "a"), ("state", "b")]),
            ("another path", &[("redirect_uri", "http://127.0.0.1:5999/other")]),
            ("a slash more", &[("redirect_uri", "http://127.0.0.1:5999/callback/")]),
            ("more path", &[("redirect_uri", "http://127.0.0.1:5999/callback/more")]),
            ("another case", &[("redirect_uri", "http://127.0.0.1:5999/Callback")]),
            ("a query", &[("redirect_uri", "http://127.0.0.1:5999/callback?a=b")]),
            ("an empty query", &[("redirect_uri", "http://127.0.0.1:5999/callback?")]),
            ("a fragment", &[("redirect_uri", "http://127.0.0.1:5999/callback#a")]),
            ("a user", &[("redirect_uri", "http://me@127.0.0.1:5999/callback")]),
            ("another scheme", &[("redirect_uri", "https://127.0.0.1:5999/callback")]),
            ("another host", &[("redirect_uri", "http://127.0.0.2:5999/callback")]),
            ("an encoded letter", &[("redirect_uri", "http://127.0.0.1:5999/%63allback")]),
            ("dots", &[("redirect_uri", "http://127.0.0.1:5999/x/../callback")]),
            ("a number for a host", &[("redirect_uri", "http://2130706433:5999/callback")]),
            ("a script", &[("redirect_uri", "javascript:alert(1)//127.0.0.1/callback")]),
            ("a relative address", &[("redirect_uri", "/callback")]),
            ("another client's address", &[("redirect_uri", APP)]),
            (
                "another port",
                &[("client_id", &app), ("redirect_uri", "https://app.example.com:444/callback")],
            ),
            (
                "the usual port",
                &[("client_id", &app), ("redirect_uri", "https://app.example.com:443/callback")],
            ),
            (
                "a host in capitals",
                &[("client_id", &app), ("redirect_uri", "https://APP.example.com/callback")],
            ),
            (
                "a scheme in capitals",
                &[("client_id", &app), ("redirect_uri", "HTTPS://app.example.com/callback")],
            ),
            (
                "a dot after the host",
                &[("client_id", &app), ("redirect_uri", "https://app.example.com./callback")],
            ),
            ("without TLS", &[("client_id", &app), ("redirect_uri", "http://app.example.com/callback")]),
            (
                "a host as a user",
                &[("client_id", &app), ("redirect_uri", "https://app.example.com@evil.example/callback")],
            ),
            ("a host below", &[("client_id", &app), ("redirect_uri", "https://x.app.example.com/callback")]),
            ("a backslash", &[("client_id", &app), ("redirect_uri", "https:\\\\app.example.com/callback")]),
            ("a line break", &[("client_id", &app), ("redirect_uri", "https://app.example.com/callback\n")]),
        ];
        for (what, changes) in cases {
            let path = format!("/oauth/authorize?{}", service.request(changes));
            on_a_page(what, &service.client.get(&path).send().await);
            let sent = service.client.post(&path).body("application/x-www-form-urlencoded", "intent=allow");
            on_a_page(what, &sent.send().await);
        }
        for query in ["", "?", "?client_id=%zz", "?client_id=%ff"] {
            on_a_page(query, &service.client.get(&format!("/oauth/authorize{query}")).send().await);
        }
    }

    async fn other_errors_are_redirected_to_the_client(harness: Harness) {
        let service = &harness.service;
        let (reader, _) = service.register("Reader", &["read"], false).await;
        let (short, long) = ("a".repeat(42), "a".repeat(44));
        let (plus, padded) = (format!("{}+", "a".repeat(42)), format!("{}=", "a".repeat(43)));
        let (other_case, slash) = (service.issuer.replace("http", "HTTP"), format!("{}/", service.issuer));
        let cases: &[(&str, &str, Pairs<'_>)] = &[
            ("no response type", "invalid_request", &[("response_type", "")]),
            ("the implicit grant", "unsupported_response_type", &[("response_type", "token")]),
            ("an ID token", "unsupported_response_type", &[("response_type", "id_token")]),
            ("a hybrid", "unsupported_response_type", &[("response_type", "code token")]),
            ("a response type in capitals", "unsupported_response_type", &[("response_type", "CODE")]),
            ("no PKCE", "invalid_request", &[("code_challenge", ""), ("code_challenge_method", "")]),
            ("no challenge", "invalid_request", &[("code_challenge", "")]),
            ("no method", "invalid_request", &[("code_challenge_method", "")]),
            ("the method plain", "invalid_request", &[("code_challenge_method", "plain")]),
            ("a method in small letters", "invalid_request", &[("code_challenge_method", "s256")]),
            ("a short challenge", "invalid_request", &[("code_challenge", &short)]),
            ("a long challenge", "invalid_request", &[("code_challenge", &long)]),
            ("a plus in the challenge", "invalid_request", &[("code_challenge", &plus)]),
            ("a padded challenge", "invalid_request", &[("code_challenge", &padded)]),
            ("an unknown scope", "invalid_scope", &[("scope", "fly")]),
            ("an unknown scope of odd letters", "invalid_scope", &[("scope", "fl\"y\\é\n")]),
            ("one unknown scope of two", "invalid_scope", &[("scope", "read fly")]),
            ("a scope in capitals", "invalid_scope", &[("scope", "READ")]),
            ("a scope of blanks", "invalid_scope", &[("scope", " ")]),
            ("another's resource", "invalid_target", &[("resource", "https://other.example")]),
            ("a resource in capitals", "invalid_target", &[("resource", &other_case)]),
            ("a resource with a slash", "invalid_target", &[("resource", &slash)]),
            ("a resource that is no address", "invalid_target", &[("resource", "x")]),
            ("an answer in the fragment", "invalid_request", &[("response_mode", "fragment")]),
            ("an answer by a form", "invalid_request", &[("response_mode", "form_post")]),
            ("a request object", "request_not_supported", &[("request", "e30.e30.")]),
            ("a request by reference", "request_uri_not_supported", &[("request_uri", "https://evil.example")]),
            (
                "two response types", "invalid_request",
                &[("response_type", "code"), ("response_type", "code")],
            ),
            (
                "two response modes", "invalid_request",
                &[("response_mode", "query"), ("response_mode", "query")],
            ),
            ("two scopes", "invalid_request", &[("scope", "read"), ("scope", "write")]),
            ("two challenges", "invalid_request", &[("code_challenge", &short), ("code_challenge", &short)]),
            (
                "two methods",
                "invalid_request",
                &[("code_challenge_method", "S256"), ("code_challenge_method", "plain")],
            ),
            ("two resources", "invalid_target", &[("resource", "a"), ("resource", "b")]),
            ("two request objects", "invalid_request", &[("request", "a"), ("request", "b")]),
            ("two requests by reference", "invalid_request", &[("request_uri", "a"), ("request_uri", "b")]),
        ];
        for (what, error, changes) in cases {
            let path = format!("/oauth/authorize?{}", service.request(changes));
            let answer = service.client.get(&path).send().await;
            to_the_client(what, &answer, CALLBACK, error, &service.issuer);
        }
        let changes = [("client_id", reader.as_str()), ("redirect_uri", APP), ("scope", "read write")];
        let path = format!("/oauth/authorize?{}", service.request(&changes));
        let answer = service.client.get(&path).send().await;
        to_the_client("a scope not for this client", &answer, APP, "invalid_scope", &service.issuer);
    }

    async fn unknown_parameters_are_ignored_and_empty_ones_absent(harness: Harness) {
        let service = &harness.service;
        let good = service.request(&[("resource", &format!("{}/v1", service.issuer))]);
        for more in ["", "&display=page&display=popup", "&nonce=1", "&request=&response_mode="] {
            let answer = service.client.get(&format!("/oauth/authorize?{good}{more}")).send().await;
            assert!(answer.has_status(200).text().contains("<h1>Sign in</h1>"), "{more}: {}", answer.text());
        }
        let twice = format!("/oauth/authorize?{good}&{}", encode(&[("redirect_uri", "")]));
        on_a_page("an address, and an empty one", &service.client.get(&twice).send().await);
    }
}
