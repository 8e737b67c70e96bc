//! The routes besides the API: pages for people, the documentation, the sign-in, health and readiness probes.

use testkit::Store;

use crate::fixture::{Open, Setup, instance};

/// The values of an attribute, in the order of the page.
fn attributes<'a>(html: &'a str, name: &str) -> Vec<&'a str> {
    let start = format!("{name}=\"");
    html.split(&start).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

testkit::on_one_engine! {
    async fn health_and_readiness_probes_get_200(open: Open) {
        for (path, said) in [("/healthz", "ok\n"), ("/readyz", "ready\n")] {
            let answer = open.anyone.get(path).header("accept", "image/png").send().await;
            assert_eq!((answer.status, answer.text().as_str()), (200, said));
            assert_eq!(answer.header("content-type"), "text/plain; charset=utf-8");
        }
    }

    async fn links_of_the_start_page_work(open: Open) {
        for accept in ["*/*", "text/html", "application/xml"] {
            let front = open.anyone.get("/").header("accept", accept).send().await;
            let html = front.has_status(200).text();
            assert_eq!(front.header("content-type"), "text/html; charset=utf-8");
            assert!(html.contains("<h1>Where do you want to go?</h1>"), "{html}");
            let links = attributes(&html, "href").into_iter().chain(attributes(&html, "src"));
            let links: Vec<_> = links.filter(|link| link.starts_with('/')).collect();
            for page in ["/", "/app/bookings", "/app/webhooks", "/docs/", "/openapi.json", "/problems"] {
                assert!(links.contains(&page), "{page}: {links:?}");
            }
            for link in links {
                open.anyone.get(link).send().await.has_status(200);
            }
        }
    }

    async fn each_problem_of_the_service_has_a_page(open: Open) {
        let all = open.anyone.get("/problems").send().await.has_status(200).text();
        let links = attributes(&all, "href");
        for (name, status, title) in [
            ("departed", 409, "Departed"),
            ("no-longer-runs", 409, "No longer runs"),
            ("sold-out", 409, "Sold out"),
            ("no-bicycles", 409, "No bicycles"),
            ("no-dogs", 409, "No dogs"),
            ("booking-expired", 409, "Booking expired"),
            ("already-paid", 409, "Already paid"),
            ("payment-under-way", 409, "Payment under way"),
            ("idempotency-key-in-use", 409, "Idempotency-Key in use"),
            ("idempotency-key-reused", 422, "Idempotency-Key reused"),
            ("not-found", 404, "Not found"),
            ("too-many-requests", 429, "Too many requests"),
        ] {
            let address = format!("/problems/{name}");
            assert!(links.contains(&address.as_str()), "{links:?}");
            let html = open.anyone.get(&address).send().await.has_status(200).text();
            assert!(html.contains(&format!("<h1>{title}</h1>")), "{html}");
            assert!(html.contains(&format!("Status {status}")), "{html}");
        }
        let unknown = open.anyone.get("/problems/nothing").send().await;
        assert_eq!(
            unknown.is_problem(404, "not-found"),
            "There is no problem of this name; see /problems for all of them."
        );
    }

    async fn sign_in_routes_are_served_next_to_the_api(open: Open) {
        for path in ["/oauth/sign-up", "/oauth/sign-out"] {
            let page = open.anyone.get(path).send().await;
            assert_eq!(
                (page.status, page.header("content-type")),
                (200, "text/html; charset=utf-8"),
                "{path}"
            );
            assert!(page.text().contains("Train travel"), "{path}: {}", page.text());
        }
        // An invalid request gets an error page, or an error in the format of OAuth, not a problem.
        let authorize = open.anyone.get("/oauth/authorize").header("accept", "text/html").send().await;
        assert_eq!((authorize.status, authorize.header("content-type")), (400, "text/html; charset=utf-8"));
        let form = "grant_type=authorization_code&client_id=nobody&code=x";
        for accept in ["*/*", "application/xml"] {
            let call = open.anyone.post("/oauth/token").header("accept", accept);
            let answer = call.body("application/x-www-form-urlencoded", form).send().await;
            assert_eq!((answer.status, answer.header("content-type")), (401, "application/json"));
            assert_eq!(answer.json()["error"], "invalid_client");
        }
        let keys = open.anyone.get("/oauth/jwks.json").send().await.has_status(200).json();
        assert_eq!(keys["keys"].as_array().unwrap().len(), 1);
        for path in ["/oauth/token", "/.well-known/oauth-authorization-server"] {
            assert_eq!(open.anyone.get(path).send().await.header("ratelimit"), "");
        }
        open.anyone.get("/oauth/nothing").send().await.is_problem(404, "not-found");
    }

    async fn demo_users_sign_in_from_the_documentation(store: Store) {
        let open = Open::on(store, Setup { demo: true, ..Setup::default() }).await;
        let setup = Setup { demo: true, ..Setup::default() };
        let accounts = train::SERVICE.accounts(&instance(&setup, &open.db, &open.clock)).unwrap();
        let here = std::net::IpAddr::from([127, 0, 0, 1]);
        for (name, password) in train::DEMO_USERS {
            accounts.sign_in(name, (*password).into(), here).await.unwrap();
        }
        let page = open.anyone.get("/docs/").send().await.has_status(200).text();
        assert!(page.contains("/openapi.json") && page.contains("x-scalar-client-id&#34;:&#34;pages"), "{page}");
        assert!(page.contains("&#34;chains&#34;:{&#34;get-booking-qr&#34;:"), "{page}");
    }

    async fn service_without_demo_has_no_demo_users(open: Open) {
        let setup = Setup { demo: false, ..Setup::default() };
        let accounts = train::SERVICE.accounts(&instance(&setup, &open.db, &open.clock)).unwrap();
        assert_eq!(accounts.find("demo").await.unwrap(), None);
        let page = open.anyone.get("/docs/").send().await.has_status(200).text();
        assert!(page.contains("/openapi.json") && !page.contains("demo"), "{page}");
        // The page creates nothing by itself.
        assert!(page.contains("&#34;chains&#34;:null"), "{page}");
    }
}
