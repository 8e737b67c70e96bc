//! Pages: who may send their forms, their headers and cookies, and their content.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use http::HeaderMap;
use serde_json::json;
use sha2::{Digest, Sha256};
use testkit::Answer;

use super::fixture::{APP, Browser, CALLBACK, Harness, NAME, PASSWORD, Pairs, Service, encode};

const FORM: &str = "application/x-www-form-urlencoded";

/// The form token on a page, and its cookie.
fn form_of(page: &Answer) -> (String, String) {
    let text = page.text();
    let token = text.split("name=\"token\" value=\"").nth(1).and_then(|rest| rest.split('"').next());
    (token.unwrap_or_else(|| panic!("no form in {text}")).to_owned(), cookie(&page.headers, "form"))
}

/// All cookies that an answer sets.
fn cookies(headers: &HeaderMap) -> Vec<&str> {
    headers.get_all("set-cookie").iter().map(|value| value.to_str().unwrap()).collect()
}

/// The cookie of this kind as `name=value`.
fn cookie(headers: &HeaderMap, kind: &str) -> String {
    let mut set = cookies(headers).into_iter().map(|set| set.split(';').next().unwrap());
    let found = set.find(|set| set.contains(&format!("-{kind}=")));
    found.unwrap_or_else(|| panic!("no {kind} cookie in {headers:?}")).to_owned()
}

async fn send(service: &Service, path: &str, headers: &[(&str, &str)], fields: &[(&str, &str)]) -> Answer {
    let call = service.client.post(path).body(FORM, encode(fields));
    headers.iter().fold(call, |call, (name, value)| call.header(name, value)).send().await
}

/// Asserts the headers that keep a page to itself.
#[track_caller]
fn is_page(what: &str, answer: &Answer, status: u16, leads_to: &str) {
    assert_eq!(answer.status, status, "{what}: {}", answer.text());
    let text = answer.text();
    let style = text.split("<style>").nth(1).and_then(|rest| rest.split("</style>").next()).unwrap();
    let hash = BASE64_STANDARD.encode(Sha256::digest(style));
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{hash}'; img-src 'self'; form-action 'self'{leads_to}; base-uri 'none'; \
         frame-ancestors 'none'"
    );
    for (name, value) in [
        ("content-security-policy", policy.as_str()),
        ("content-type", "text/html; charset=utf-8"),
        ("cache-control", "no-store"),
        ("referrer-policy", "no-referrer"),
        ("x-frame-options", "DENY"),
        ("x-content-type-options", "nosniff"),
    ] {
        assert_eq!(answer.header(name), value, "{what}: {name}");
    }
    assert!(!text.contains("<script") && !text.contains(" style=") && !text.contains("http-equiv"), "{what}");
}

async fn count(harness: &Harness, sql: &'static str) -> i64 {
    let read = harness.db.read(move |tx| tx.row(sql, &[], |row| row.get(0)));
    read.await.unwrap_or_else(|error: db::Error| panic!("{error}")).unwrap()
}

testkit::on_both_engines! {
    async fn sign_in_starts_a_new_session_that_expires(harness: Harness) {
        let service = &harness.service;
        let path = format!("/oauth/authorize?{}", service.request(&[]));
        let page = service.client.get(&path).send().await;
        let (token, form) = form_of(&page);
        assert_eq!(page.header("set-cookie"), format!("{form}; Path=/; HttpOnly; SameSite=Lax"));
        assert!(form.starts_with("test-service-form="), "{form}");
        let good = [("token", token.as_str()), ("intent", "sign-in"), ("name", NAME), ("password", PASSWORD)];
        // A session that an attacker set before.
        let planted = format!("{form}; test-service-session=planted");
        let first = send(service, &path, &[("cookie", &planted)], &good).await;
        let session = cookie(&first.has_status(303).headers, "session");
        let set = cookies(&first.headers);
        assert_eq!(
            set,
            [
                format!("{session}; Path=/; HttpOnly; SameSite=Lax"),
                "test-service-form=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0".to_owned(),
            ]
        );
        let secret = session.strip_prefix("test-service-session=").unwrap();
        assert_eq!(secret.len(), 43);
        let shows = async |cookie: &str, words: &str| {
            let page = service.client.get(&path).header("cookie", cookie).send().await;
            assert!(page.has_status(200).text().contains(words), "{words}: {}", page.text());
        };
        shows(&session, "<h1>Allow Demo?</h1>").await;
        shows("test-service-session=planted", "<h1>Sign in</h1>").await;
        // Signing in again ends the session before.
        let again = send(service, &path, &[("cookie", &format!("{form}; {session}"))], &good).await;
        let second = cookie(&again.has_status(303).headers, "session");
        assert_ne!(session, second);
        shows(&session, "<h1>Sign in</h1>").await;
        shows(&second, "<h1>Allow Demo?</h1>").await;
        let both = format!("{form}; {second}");
        let out = send(service, "/oauth/sign-out", &[("cookie", &both)], &[("token", &token)]).await;
        assert_eq!(out.has_status(303).header("location"), "/oauth/sign-out");
        let gone = cookies(&out.headers);
        let gone_as = |kind| format!("test-service-{kind}=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0");
        assert_eq!(gone, [gone_as("session"), gone_as("form")]);
        shows(&second, "<h1>Sign in</h1>").await;
        let third = send(service, &path, &[("cookie", &form)], &good).await;
        let third = cookie(&third.has_status(303).headers, "session");
        let switch = [("token", token.as_str()), ("intent", "switch")];
        let switched = send(service, &path, &[("cookie", &format!("{form}; {third}"))], &switch).await;
        assert_eq!(switched.has_status(303).header("location"), path);
        shows(&third, "<h1>Sign in</h1>").await;
        // Consent needs a session.
        let allow = [("token", token.as_str()), ("intent", "allow")];
        let without_session = send(service, &path, &[("cookie", &form)], &allow).await;
        assert_eq!(without_session.has_status(303).header("location"), path);
        let fourth = send(service, &path, &[("cookie", &form)], &good).await;
        let fourth = cookie(&fourth.has_status(303).headers, "session");
        harness.clock.advance(jiff::SignedDuration::from_hours(12));
        shows(&fourth, "<h1>Sign in</h1>").await;
        assert_eq!(count(&harness, "SELECT count(*) FROM oauth_grant").await, 0);
    }

    async fn password_guessing_is_throttled(harness: Harness) {
        let service = &harness.service;
        let path = format!("/oauth/authorize?{}", service.request(&[]));
        let mut browser = Browser::new(service);
        for number in 0..10 {
            let guess = format!("guess {number}");
            let fields = [("intent", "sign-in"), ("name", NAME), ("password", guess.as_str())];
            let answer = browser.refused(&path, &fields).await;
            assert!(answer.has_status(200).text().contains("The name or the password is wrong."));
        }
        let right = [("intent", "sign-in"), ("name", NAME), ("password", PASSWORD)];
        let answer = browser.refused(&path, &right).await;
        is_page("too many", &answer, 200, " http://127.0.0.1:5999");
        let words = "There were too many wrong passwords. Try again in 30 seconds.";
        assert!(answer.text().contains(words), "{}", answer.text());
        assert!(!answer.text().contains("aria-invalid"), "{}", answer.text());
        harness.clock.advance(jiff::SignedDuration::from_secs(30));
        browser.sign_in(&path).await.has_status(303);
        assert!(browser.get(&path).await.text().contains("<h1>Allow Demo?</h1>"));
    }
}

testkit::on_one_engine! {
    async fn form_of_another_origin_is_rejected(harness: Harness) {
        let service = &harness.service;
        let authorize = format!("/oauth/authorize?{}", service.request(&[]));
        let (token, cookie) = form_of(&service.client.get("/oauth/sign-up").send().await);
        let (_, other) = form_of(&service.client.get("/oauth/sign-up").send().await);
        let mut browser = Browser::new(service);
        browser.sign_in(&authorize).await.has_status(303);
        let own = service.issuer.as_str();
        let longer = format!("{own}.evil.example");
        let evil = "https://evil.example";
        let token = ("token", token.as_str());
        let (cookie, other) = (("cookie", cookie.as_str()), ("cookie", other.as_str()));
        let site = |value| ("sec-fetch-site", value);
        let origin = |value| ("origin", value);
        let cases: &[(&str, Pairs<'_>, Pairs<'_>)] = &[
            ("no token", &[cookie], &[]),
            ("an empty token", &[cookie], &[("token", "")]),
            ("a wrong token", &[cookie], &[("token", "x")]),
            ("the cookie for a token", &[cookie], &[("token", cookie.1.split_once('=').unwrap().1)]),
            ("no cookie", &[], &[token]),
            ("another browser's cookie", &[other], &[token]),
            ("another site", &[cookie, origin(evil)], &[token]),
            ("another port", &[cookie, origin("http://127.0.0.1:1")], &[token]),
            ("a longer host", &[cookie, origin(&longer)], &[token]),
            ("cross-site", &[cookie, site("cross-site")], &[token]),
            ("same-site", &[cookie, site("same-site")], &[token]),
            ("cross-site with our origin", &[cookie, site("cross-site"), origin(own)], &[token]),
            ("same-origin with another's", &[cookie, site("same-origin"), origin(evil)], &[token]),
            ("cross-site without an origin's name", &[cookie, site("cross-site"), origin("null")], &[token]),
            ("no origin's name, and no token", &[cookie, origin("null")], &[]),
        ];
        let fields = [("name", "mallory"), ("password", "wrong horse"), ("intent", "sign-in")];
        let before = count(&harness, "SELECT count(*) FROM sign_in_throttle").await;
        for (what, headers, form) in cases {
            let form: Vec<_> = form.iter().chain(&fields).copied().collect();
            for path in ["/oauth/sign-up", "/oauth/sign-out", &authorize] {
                let answer = send(service, path, headers, &form).await;
                is_page(what, &answer, 403, "");
                assert!(answer.text().contains("<h1>This form cannot be taken</h1>"), "{what} {path}");
                assert!(!answer.headers.contains_key("set-cookie"), "{what} {path}");
            }
        }
        assert_eq!(count(&harness, "SELECT count(*) FROM account").await, 1);
        assert_eq!(count(&harness, "SELECT count(*) FROM session").await, 1);
        assert_eq!(count(&harness, "SELECT count(*) FROM oauth_grant").await, 0);
        assert_eq!(count(&harness, "SELECT count(*) FROM sign_in_throttle").await, before);
        for (name, headers) in [
            ("one", vec![cookie]),
            ("two", vec![cookie, site("same-origin"), origin("null")]),
            ("three", vec![cookie, site("same-origin"), origin(own)]),
            ("four", vec![cookie, origin(own)]),
            // A browser that calls a service without TLS, and so sends no Sec-Fetch-Site.
            ("five", vec![cookie, origin("null")]),
        ] {
            let form = [token, ("name", name), ("password", "a good horse")];
            let answer = send(service, "/oauth/sign-up", &headers, &form).await;
            assert_eq!(answer.has_status(303).header("location"), "/", "{name}");
        }
    }

    async fn pages_have_security_headers(harness: Harness) {
        let service = &harness.service;
        let (app, _) = service.register("App", &["read"], false).await;
        let back = " http://127.0.0.1:5999";
        let path = format!("/oauth/authorize?{}", service.request(&[]));
        let mut browser = Browser::new(service);
        is_page("sign in", &browser.get(&path).await, 200, back);
        let wrong = [("intent", "sign-in"), ("name", NAME), ("password", "wrong")];
        is_page("a wrong password", &browser.refused(&path, &wrong).await, 200, back);
        is_page("sign up", &browser.get(&format!("/oauth/sign-up?{}", service.request(&[]))).await, 200, "");
        let unfit = [("name", "x"), ("password", "short")];
        is_page("an unfit password", &browser.refused("/oauth/sign-up", &unfit).await, 200, "");
        let taken = [("name", NAME), ("password", "a good horse")];
        is_page("a taken name", &browser.refused("/oauth/sign-up", &taken).await, 200, "");
        is_page("signed out", &browser.get("/oauth/sign-out").await, 200, "");
        browser.sign_in(&path).await.has_status(303);
        is_page("consent", &browser.get(&path).await, 200, back);
        is_page("sign out", &browser.get("/oauth/sign-out").await, 200, "");
        is_page("refused", &browser.get("/oauth/authorize").await, 400, "");
        let elsewhere = service.request(&[("client_id", &app), ("redirect_uri", APP)]);
        let page = browser.get(&format!("/oauth/authorize?{elsewhere}")).await;
        is_page("consent for a site", &page, 200, " https://app.example.com");
        let closed = Service::start_with(&harness.db, &harness.clock, None, |settings| settings.sign_up = false);
        let closed = closed.await;
        let none = closed.client.get("/oauth/sign-up").send().await;
        is_page("no sign-up", &none, 404, "");
        is_page("no sign-up", &send(&closed, "/oauth/sign-up", &[], &[]).await, 404, "");
        let page = closed.client.get(&format!("/oauth/authorize?{}", closed.request(&[]))).send().await;
        assert!(!page.has_status(200).text().contains("/oauth/sign-up"));
        let denied = browser.post(&path, &[("intent", "deny")]).await;
        let issuer = service.issuer.replace(':', "%3A").replace('/', "%2F");
        assert_eq!(
            denied.has_status(303).header("location"),
            format!(
                "{CALLBACK}?error=access_denied&error_description=the+request+was+denied&state=st%2Fate\
                 &iss={issuer}"
            )
        );
    }

    async fn cookies_are_bound_to_the_host_with_tls(harness: Harness) {
        let secure = Service::start(&harness.db, &harness.clock, Some("https://id.example.com")).await;
        let page = secure.client.get("/oauth/sign-up").send().await;
        let (token, form) = form_of(&page);
        assert_eq!(page.header("set-cookie"), format!("{form}; Path=/; HttpOnly; SameSite=Lax; Secure"));
        assert!(form.starts_with("__Host-test-service-form="), "{form}");
        let fields = [("token", token.as_str()), ("name", "grace"), ("password", "a good horse")];
        let plain = form.replace("__Host-", "");
        send(&secure, "/oauth/sign-up", &[("cookie", &plain)], &fields).await.has_status(403);
        let signed_up = send(&secure, "/oauth/sign-up", &[("cookie", &form)], &fields).await;
        let session = cookie(&signed_up.has_status(303).headers, "session");
        assert!(session.starts_with("__Host-test-service-session="), "{session}");
        let set = cookies(&signed_up.headers)[0];
        assert_eq!(set, format!("{session}; Path=/; HttpOnly; SameSite=Lax; Secure"));
    }

    async fn error_is_shown_once_on_its_page(harness: Harness) {
        let service = &harness.service;
        let path = format!("/oauth/authorize?{}", service.request(&[]));
        let elsewhere = format!("/oauth/authorize?{}", service.request(&[("state", "another")]));
        let mut browser = Browser::new(service);
        let fields = [("intent", "sign-in"), ("name", "zoë in the clear; <x>"), ("password", "wrong horse")];
        let answer = browser.post(&path, &fields).await;
        assert_eq!(answer.has_status(303).header("location"), path);
        let set = cookies(&answer.headers);
        let notice = cookie(&answer.headers, "notice");
        assert_eq!(set, [format!("{notice}; Path=/; HttpOnly; SameSite=Lax; Max-Age=60")]);
        assert!(!notice.contains("clear") && !notice.contains("horse"), "{notice}");
        let says = |page: &Answer| page.has_status(200).text().contains("The name or the password is wrong.");
        assert!(!says(&browser.get(&elsewhere).await));
        assert!(!says(&browser.get("/oauth/sign-up").await));
        // A browser that has not sent the form does not show the notice, nor a forged one.
        assert!(!says(&service.client.get(&path).header("cookie", &notice).send().await));
        let (_, form) = form_of(&service.client.get(&path).send().await);
        for (forged, what) in [
            (notice.clone(), "another browser's"),
            ("test-service-notice=wrong.YWRh.AAAA".to_owned(), "a short seal"),
            ("test-service-notice=wrong.YWRh.".to_owned(), "no seal"),
            ("test-service-notice=wrong".to_owned(), "no name"),
            ("test-service-notice=".to_owned(), "nothing"),
        ] {
            let both = format!("{form}; {forged}");
            let page = service.client.get(&path).header("cookie", &both).send().await;
            assert!(!says(&page), "{what}");
        }
        let page = browser.get(&path).await;
        assert!(says(&page));
        assert_eq!(
            cookies(&page.headers),
            ["test-service-notice=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0"]
        );
        let text = page.text();
        assert!(text.contains("value=\"zoë in the clear; &#60;x&#62;\""), "{text}");
        let password = text.split("<input").find(|field| field.contains("id=\"password\"")).unwrap();
        let password = password.split('>').next().unwrap();
        assert!(password.contains("aria-invalid=\"true\" aria-describedby=\"fault\""), "{password}");
        assert!(!says(&browser.get(&path).await));
        // Another process knows it too.
        let other = Service::start(&harness.db, &harness.clock, Some(&service.issuer)).await;
        browser.post(&path, &fields).await.has_status(303);
        assert!(says(&browser.at(&other).get(&path).await));
        // An invalid name is not put into the cookie.
        let long = "n".repeat(5000);
        let page = browser.refused(&path, &[("intent", "sign-in"), ("name", &long), ("password", "x")]).await;
        assert!(says(&page) && !page.text().contains("nnnn"));
    }

    async fn names_of_clients_and_accounts_are_escaped(harness: Harness) {
        let service = &harness.service;
        let name = "<script>alert('x')</script>\"&";
        let escaped = "&#60;script&#62;alert(&#39;x&#39;)&#60;/script&#62;&#34;&#38;";
        let body = json!({
            "client_name": name, "redirect_uris": [APP], "token_endpoint_auth_method": "none",
        });
        let client = service.client.post("/oauth/register").json(&body).send().await.has_status(201).json();
        let id = client["client_id"].as_str().unwrap();
        let query = service.request(&[("client_id", id), ("redirect_uri", APP), ("state", name)]);
        let path = format!("/oauth/authorize?{query}&x='><script>");
        let mut browser = Browser::new(service);
        let wrong = [("intent", "sign-in"), ("name", name), ("password", "wrong horse")];
        let first = browser.get(&path).await;
        browser.post(&path, &wrong).await.has_status(303);
        let again = browser.get(&path).await;
        assert!(again.text().contains(&format!("value=\"{escaped}\"")), "{}", again.text());
        let mut pages = vec![first, again];
        browser.sign_in(&path).await.has_status(303);
        pages.push(browser.get(&path).await);
        for page in &pages {
            assert!(page.text().contains(&format!("<strong>{escaped}</strong>")), "{}", page.text());
        }
        pages.push(browser.get(&format!("/oauth/sign-up?{query}&x=\"><script>")).await);
        for page in &pages {
            let text = page.text();
            assert!(!text.contains("<script"), "{text}");
            let actions: Vec<_> = text.split("action=").skip(1).collect();
            assert!(!actions.is_empty(), "{text}");
            for action in actions {
                assert!(action.starts_with("\"authorize?") || action.starts_with("\"sign-up?"), "{text}");
            }
        }
    }
}
