//! The routes besides the API: pages for people, the documentation, health and readiness probes.

use service::Instance;
use std::{future::ready, pin::Pin, sync::mpsc};

use serde_json::json;
use testkit::{Server, Store};

use crate::fixture::{Open, Setup, event, text};

const PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; \
                           base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// The values of an attribute, in the order of the page.
fn attributes<'a>(html: &'a str, name: &str) -> Vec<&'a str> {
    let start = format!("{name}=\"");
    html.split(&start).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

/// Starts a future without waiting for it.
async fn begin(future: Pin<&mut impl Future>) {
    tokio::select! {
        biased;
        _ = future => panic!("it is to wait"),
        () = ready(()) => {}
    }
}

testkit::on_both_engines! {
    /// With room for one unit of work to run and one to wait, the third is turned away at once.
    async fn overloaded_service_answers_503(store: Store) {
        let limits = db::Limits { queue: 1, connections: 1, ..db::Limits::DEFAULT };
        let db = db::Db::open(store.location(), "museum", museum::MIGRATIONS, limits).unwrap();
        let open = Open::on(store, Setup::default()).await;
        let settings = museum::Settings::default();
        let instance = Instance::new(db.clone(), open.clock.clone(), web::Random::system());
        let router = museum::Museum::open(&settings, instance).await.unwrap().app();
        let server = Server::start(web::ConnectionLimits::default(), |_| router).await;
        let ada = testkit::Client::new(server.address()).signed_in("ada", "swordfish-1");
        let ballet = event("Ballet", &["2026-05-20"]);
        ada.get("/v1.1/special-events").send().await.is(200, &json!([]));

        let (started, has_started) = mpsc::channel();
        let (finish, may_finish) = mpsc::channel::<()>();
        let may_finish = std::sync::Mutex::new(may_finish);
        let running = db.write(move |_| {
            started.send(()).unwrap();
            may_finish.lock().unwrap().recv().unwrap();
            Ok::<_, db::Error>(())
        });
        let mut running = std::pin::pin!(running);
        begin(running.as_mut()).await;
        tokio::task::spawn_blocking(move || has_started.recv().unwrap()).await.unwrap();
        let mut waiting = std::pin::pin!(db.write(|_| Ok::<_, db::Error>(())));
        begin(waiting.as_mut()).await;

        let answer = ada.post("/v1.1/special-events").json(&ballet).send().await;
        assert_eq!(answer.is_problem(503, "unavailable"), "The service is busy. Try again in a moment.");
        assert_eq!(answer.header("retry-after"), "1");
        // Routes without the database still work.
        ada.get("/v1.1/museum-hours").send().await.has_status(200);
        ada.get("/healthz").send().await.has_status(200);

        finish.send(()).unwrap();
        running.await.unwrap();
        waiting.await.unwrap();
        open.events("").await.is(200, &json!([]));
        ada.post("/v1.1/special-events").json(&ballet).send().await.has_status(201);
    }
}

testkit::on_one_engine! {
    async fn health_and_readiness_probes_get_200(open: Open) {
        for (path, said) in [("/healthz", "ok\n"), ("/readyz", "ready\n")] {
            let answer = open.anyone.get(path).send().await;
            assert_eq!((answer.status, answer.text().as_str()), (200, said));
            assert_eq!(answer.header("content-type"), "text/plain; charset=utf-8");
            // For any Accept header.
            open.anyone.get(path).header("accept", "image/png").send().await.has_status(200);
        }
    }

    async fn links_and_files_of_each_page_work(open: Open) {
        for path in ["/", "/app/events", "/app/event", "/app/buy", "/app/tickets", "/app/ticket", "/app/check"] {
            let page = open.anyone.get(path).send().await;
            assert_eq!(page.header("content-type"), "text/html; charset=utf-8", "{path}");
            assert_eq!(page.header("content-security-policy"), PAGE_POLICY, "{path}");
            let html = page.has_status(200).text();
            let links = [attributes(&html, " href"), attributes(&html, " src")].concat();
            for link in links.iter().filter(|link| !link.starts_with('#')) {
                assert!(link.starts_with('/'), "{link} of {path} is not ours");
                open.anyone.get(link).send().await.has_status(200);
            }
        }
    }

    async fn each_problem_has_a_page_at_its_type(open: Open) {
        let all = open.anyone.get("/problems").send().await.has_status(200).text();
        let kinds: Vec<_> =
            attributes(&all, "href").into_iter().filter(|link| link.starts_with("/problems/")).collect();
        assert_eq!(
            kinds,
            [
                "/problems/invalid-request",
                "/problems/unauthorized",
                "/problems/forbidden",
                "/problems/not-found",
                "/problems/method-not-allowed",
                "/problems/not-acceptable",
                "/problems/request-timeout",
                "/problems/conflict",
                "/problems/too-large",
                "/problems/address-too-long",
                "/problems/unsupported-media-type",
                "/problems/misdirected",
                "/problems/unprocessable",
                "/problems/too-many-requests",
                "/problems/headers-too-large",
                "/problems/internal",
                "/problems/unavailable",
                "/problems/already-used",
                "/problems/not-today",
            ]
        );
        for kind in &kinds {
            open.anyone.get(kind).send().await.has_status(200);
        }
        let unknown = "/v1.1/special-events/019e0000-0000-7000-8000-000000000000";
        let problems = [
            open.anyone.get("/v1.1/museum-hours?limit=0").send().await,
            open.anyone.get("/v1.1/special-events").send().await,
            open.ada.get(unknown).send().await,
            open.anyone.put("/v1.1/tickets").send().await,
            open.anyone.get("/v1.1/museum-hours").header("accept", "text/plain").send().await,
            open.ada.post("/v1.1/tickets").body("application/json", vec![b' '; 1024 * 1024 + 1]).send().await,
            open.ada.post("/v1.1/tickets").body("text/plain", "").send().await,
        ];
        let mut statuses = Vec::new();
        for problem in problems {
            let document = problem.json();
            let page = open.anyone.get(text(&document, "type")).send().await;
            let html = page.has_status(200).text();
            assert!(html.contains(&format!("<h1>{}</h1>", text(&document, "title"))), "{html}");
            assert!(html.contains(&format!("Status {}", problem.status)), "{html}");
            statuses.push(problem.status);
        }
        assert_eq!(statuses, [400, 401, 404, 405, 406, 413, 415]);
    }

    async fn pages_of_text_run_no_scripts_and_load_nothing_from_other_origins(open: Open) {
        for path in ["/problems", "/problems/not-found"] {
            let page = open.anyone.get(path).send().await;
            assert_eq!(page.status, 200);
            assert_eq!(page.header("content-type"), "text/html; charset=utf-8", "{path}");
            let policy = page.header("content-security-policy");
            assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
            assert!(!policy.contains("script-src") && !policy.contains("unsafe-inline"), "{policy}");
            assert_eq!(page.header("referrer-policy"), "no-referrer", "{path}");
            assert_eq!(page.header("x-content-type-options"), "nosniff", "{path}");
            let html = page.text();
            assert!(
                !html.contains("<script") && !html.contains("http://") && !html.contains("https://"),
                "{html}"
            );
        }
    }

    async fn documentation_is_served_with_its_scripts_and_styles(open: Open) {
        let moved = open.anyone.get("/docs").send().await;
        assert_eq!((moved.status, moved.header("location")), (303, "/docs/"));
        let page = open.anyone.get("/docs/").send().await;
        assert_eq!(page.status, 200);
        assert!(page.header("content-type").starts_with("text/html"), "{}", page.header("content-type"));
        let html = page.text();
        let mut loaded = 0;
        for file in [attributes(&html, "src"), attributes(&html, "href")].concat() {
            assert!(!file.contains("//"), "{file} is not ours");
            let path = if file.starts_with('/') { file.to_owned() } else { format!("/docs/{file}") };
            let answer = open.anyone.get(&path).send().await;
            assert!(answer.status == 200 && !answer.body.is_empty(), "{file}");
            loaded += 1;
        }
        assert!(loaded >= 4, "{html}");
        assert!(html.contains("/openapi.json"), "{html}");
        open.anyone.get("/docs/nothing.js").send().await.is_problem(404, "not-found");
    }
}
