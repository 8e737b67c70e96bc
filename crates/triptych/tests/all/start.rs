//! Starting and stopping.

use std::process::Stdio;

use crate::common::{FREE_PORTS, Workspace, bare, museum};
use serde_json::json;
use testkit::Client;

testkit::on_both_engines! {
    async fn start_prints_all_addresses_and_sigterm_stops_it(workspace: Workspace) {
        let program = workspace.serve();
        let said = program.said();
        let address = program.address("museum");
        let place = match workspace.store.folder() {
            Some(folder) => format!("SQLite in {}", folder.display()),
            None => workspace.store.flags()[1].replace("postgres://", "PostgreSQL at postgres://"),
        };
        assert!(said.starts_with(&format!("Triptych 0.1.0, with demo data, {place}\n")), "{said}");
        assert!(said.contains(&format!("http://{address}/v1.1 ")), "{said}");
        assert!(said.contains(&format!("http://{address}/docs  HTTP Basic, demo / demo\n")), "{said}");
        assert!(said.ends_with("\nReady. Press Ctrl-C to stop.\n"), "{said}");

        let bought = museum(&program)
            .post("/v1.1/tickets")
            .json(&json!({"ticketType": "general", "ticketDate": "9990-05-05", "email": "a@example.com"}))
            .send()
            .await;
        let pass = bought.has_status(201).header("location").to_owned();
        assert!(program.terminate().success());
        if let Some(folder) = workspace.store.folder() {
            // The databases were closed: nothing is left in a write-ahead log.
            let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name()).collect();
            // The template of sandboxes is made after the start, until the stop.
            files.retain(|file| file != "sandboxes");
            files.sort();
            assert_eq!(files, ["museum.db", "petstore.db", "sandbox.db", "secret", "train.db"]);
        }

        let again = workspace.serve();
        let kept = museum(&again).get(&pass).send().await;
        assert_eq!(kept.has_status(200).json()["ticketDate"], "9990-05-05T07:00:00Z");
    }

    async fn demo_accounts_do_not_work_without_the_demo(workspace: Workspace) {
        let with = workspace.serve();
        museum(&with).get("/v1.1/special-events").send().await.has_status(200);
        let store = Client::new(with.address("petstore"));
        let login = "/v3/user/login?username=user1&password=password";
        let session = store.get(login).header("accept", "text/plain").send().await.has_status(200).text();
        let token = workspace.command(&["token", "petstore"]).output().unwrap().stdout;
        let token = String::from_utf8(token).unwrap().trim_end().to_owned();
        let pets = async |store: &Client| {
            store.get("/v3/pet/findByStatus").header("authorization", &format!("Bearer {token}")).send().await
        };
        let make = async |store: &Client, name: &str| {
            let call = store.post("/v3/user").header("authorization", &format!("Bearer {session}"));
            call.json(&json!({"username": name})).send().await
        };
        pets(&store).await.has_status(200);
        make(&store, "one").await.has_status(200);
        let address = with.address("petstore");
        assert!(with.terminate().success());
        let without = testkit::Program::start(
            workspace
                .serving_without_demo()
                .args(["--petstore-listen", &address.to_string()])
                .env("TRIPTYCH_PETSTORE_ADDRESS", format!("http://{address}")),
        );
        // Sessions and grants of the demo have ended.
        pets(&store).await.is_problem(401, "unauthorized");
        make(&store, "two").await.is_problem(401, "unauthorized");
        store.get(login).send().await.is_problem(400, "invalid-request");
        store.get("/v3/store/inventory").header("api_key", "special-key").send().await.is_problem(401, "unauthorized");
        assert!(without.said().starts_with("Triptych 0.1.0, without demo data"), "{}", without.said());
        assert!(!without.said().contains("demo / demo"), "{}", without.said());
        museum(&without).get("/v1.1/special-events").send().await.is_problem(401, "unauthorized");
    }

    async fn several_processes_start_concurrently_on_one_database(workspace: Workspace) {
        let programs = std::thread::scope(|scope| {
            let starts: Vec<_> = (0..3).map(|_| scope.spawn(|| workspace.serve())).collect();
            starts.into_iter().map(|start| start.join().unwrap()).collect::<Vec<_>>()
        });
        let event = json!({
            "name": "Shared", "location": "Hall", "eventDescription": "Seen by all.", "dates": ["2030-01-05"], "price": 1.50
        });
        let made = museum(&programs[0]).post("/v1.1/special-events").json(&event).send().await;
        let location = made.has_status(201).header("location").to_owned();
        for program in &programs {
            museum(program).get(&location).send().await.is(200, &made.json());
        }
        for program in programs {
            assert!(program.terminate().success());
        }
    }
}

#[tokio::test]
async fn public_listener_has_no_demo_by_default() {
    let folder = tempfile::tempdir().unwrap();
    let start = |more: &[&str]| {
        let mut command = bare(folder.path(), FREE_PORTS);
        testkit::Program::start(command.args(["--museum-listen", "0.0.0.0:0"]).args(more))
    };
    let at = |program: &testkit::Program| {
        let port = program.address("museum").port();
        Client::new(([127, 0, 0, 1], port).into()).signed_in("demo", "demo")
    };
    let program = start(&[]);
    at(&program).get("/v1.1/special-events").send().await.is_problem(401, "unauthorized");
    program.kill();
    let program = start(&["--demo"]);
    at(&program).get("/v1.1/special-events").send().await.has_status(200);
}

#[tokio::test]
async fn public_address_or_trusted_proxy_turns_the_demo_off() {
    const WARNING: &str = "other machines can sign in to the demo, whose passwords are well known";
    for (name, value, because) in [
        (
            "TRIPTYCH_PETSTORE_ADDRESS",
            "https://pets.example.com",
            "petstore.address is https://pets.example.com",
        ),
        (
            "TRIPTYCH_TRAIN_ADDRESS",
            "https://trains.example.com",
            "train.address is https://trains.example.com",
        ),
        (
            "TRIPTYCH_MUSEUM_ADDRESS",
            "https://museum.example.com",
            "museum.address is https://museum.example.com",
        ),
        ("TRIPTYCH_TRUSTED_PROXIES", "[\"127.0.0.1/32\"]", "trusted_proxies is not empty"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let start = |flags: &[&str]| {
            testkit::Program::start(bare(folder.path(), FREE_PORTS).args(flags).env(name, value))
        };
        let program = start(&[]);
        assert!(program.said().starts_with("Triptych 0.1.0, without demo data"), "{}", program.said());
        museum(&program).get("/v1.1/special-events").send().await.is_problem(401, "unauthorized");
        let store = Client::new(program.address("petstore"));
        let inventory = store.get("/v3/store/inventory").header("api_key", "special-key");
        inventory.send().await.is_problem(401, "unauthorized");
        let redirect = json!({"redirect_uris": ["https://app.example.com/back"]});
        store.post("/oauth/register").json(&redirect).send().await.has_status(401);
        assert!(!program.logged().contains(WARNING), "{}", program.logged());
        program.kill();

        let program = start(&["--demo"]);
        museum(&program).get("/v1.1/special-events").send().await.has_status(200);
        let logged = program.logged();
        let mut lines = logged.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let warning = lines.find(|line| line["message"] == WARNING).unwrap_or_else(|| panic!("{logged}"));
        assert_eq!((&warning["level"], &warning["because"]), (&json!("WARN"), &json!(because)));
    }
}

#[tokio::test]
async fn start_page_has_the_configured_addresses() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = bare(folder.path(), FREE_PORTS);
    command
        .env("TRIPTYCH_PETSTORE_ADDRESS", "https://pets.example.com")
        .env("TRIPTYCH_TRAIN_ADDRESS", "https://trains.example.com")
        .env("TRIPTYCH_TRAIN_OAUTH_ISSUER", "https://id.example.com")
        .env("TRIPTYCH_MUSEUM_ADDRESS", "https://museum.example.com");
    let program = testkit::Program::start(&mut command);
    let page = program.said();
    let rows: Vec<Vec<&str>> = page.lines().map(|line| line.split("  ").collect()).collect();
    let row = |name: &str| {
        let row = rows.iter().find(|row| row.get(1) == Some(&name)).unwrap_or_else(|| panic!("{page}"));
        row.iter().map(|cell| cell.trim()).filter(|cell| !cell.is_empty()).collect::<Vec<_>>()
    };
    let own = "accounts of its own; see triptych user --help";
    assert_eq!(
        row("petstore"),
        ["petstore", "https://pets.example.com/v3", "https://pets.example.com/docs", own]
    );
    assert_eq!(
        row("train"),
        [
            "train",
            "https://trains.example.com",
            "https://trains.example.com/docs",
            "tokens of https://id.example.com"
        ]
    );
    assert_eq!(
        row("museum"),
        ["museum", "https://museum.example.com/v1.1", "https://museum.example.com/docs", own]
    );
}

#[tokio::test]
async fn metrics_have_their_own_listener() {
    let folder = tempfile::tempdir().unwrap();
    let program = testkit::Program::start(&mut bare(folder.path(), FREE_PORTS));
    museum(&program).get("/v1.1/museum-hours?limit=2").send().await.has_status(200);
    museum(&program).get("/metrics").send().await.is_problem(404, "not-found");
    let metrics = Client::new(program.address("metrics")).get("/metrics").send().await;
    let line = "triptych_http_request_seconds_count{service=\"museum\",method=\"GET\",route=\"/v1.1/museum-hours\",\
                status=\"200\"} 1";
    assert!(metrics.has_status(200).text().lines().any(|found| found == line), "{}", metrics.text());
    // Every background task is watched.
    let admin = Client::new(program.address("metrics"));
    assert_eq!(admin.get("/readyz").send().await.has_status(200).text(), "ready\n");
    for (service, task) in
        [("admin", "metrics upkeep"), ("train", "sweeper"), ("train", "webhooks"), ("museum", "demo events")]
    {
        let line = format!("triptych_background_restarts_total{{service=\"{service}\",task=\"{task}\"}} 0");
        assert!(metrics.text().lines().any(|found| found == line), "{line}: {}", metrics.text());
    }
}

#[tokio::test]
async fn security_events_are_logged_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let program = testkit::Program::start(&mut bare(folder.path(), FREE_PORTS));
    let event = serde_json::json!({
        "name": "A", "location": "B", "eventDescription": "C", "dates": ["2026-05-13"], "price": 1,
    });
    for (password, status) in [("wrong", 401), ("wrong", 401), ("demo", 201), ("demo", 201)] {
        let caller = museum(&program).signed_in("demo", password);
        caller.post("/v1.1/special-events").json(&event).send().await.has_status(status);
    }
    let metrics = Client::new(program.address("metrics")).get("/metrics").send().await;
    // The second time, the password is remembered.
    for (outcome, count) in [("wrong", 2), ("ok", 1)] {
        let line = format!(
            "triptych_security_events_total{{service=\"museum\",event=\"sign_in\",outcome=\"{outcome}\"}} {count}"
        );
        assert!(metrics.has_status(200).text().lines().any(|found| found == line), "{}", metrics.text());
    }
}

#[test]
fn openapi_prints_only_the_document() {
    let folder = tempfile::tempdir().unwrap();
    let output = bare(folder.path(), &["openapi", "museum", "--data", "unused"]).output().unwrap();
    assert!(output.status.success());
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["openapi"], "3.1.0");
    assert_eq!(document["info"]["title"], "Museum");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "printing makes no data folder");
}

#[test]
fn openapi_names_an_external_issuer() {
    let folder = tempfile::tempdir().unwrap();
    for (service, scheme) in [("petstore", "petstore_auth"), ("train", "OAuth2")] {
        let mut command = bare(folder.path(), &["openapi", service]);
        let issuer = format!("TRIPTYCH_{}_OAUTH_ISSUER", service.to_uppercase());
        let output = command.env(issuer, "https://id.example.com/realms/main").output().unwrap();
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let address = "https://id.example.com/realms/main/.well-known/openid-configuration";
        let expected = serde_json::json!({"type": "openIdConnect", "openIdConnectUrl": address});
        assert_eq!(document["components"]["securitySchemes"][scheme], expected);
    }
}

#[test]
fn openapi_names_the_address_in_the_settings() {
    let folder = tempfile::tempdir().unwrap();
    let document = |service: &str, flags: &[&str], address: &str| {
        let mut command = bare(folder.path(), &["openapi", service]);
        command.args(flags).env(format!("TRIPTYCH_{}_ADDRESS", service.to_uppercase()), address);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()
    };
    for (service, prefix) in [("petstore", "/v3"), ("train", ""), ("museum", "/v1.1")] {
        let flag = format!("--{service}-listen=127.0.0.1:9123");
        let listening = document(service, &[&flag], "");
        assert_eq!(listening["servers"][0]["url"], format!("http://127.0.0.1:9123{prefix}"));
        let set = document(service, &[&flag], "https://api.example.com");
        assert_eq!(set["servers"][0]["url"], format!("https://api.example.com{prefix}"));
    }
    let pets = document("petstore", &["--petstore-listen=127.0.0.1:9123"], "");
    let flow = &pets["components"]["securitySchemes"]["petstore_auth"]["flows"]["authorizationCode"];
    assert_eq!(flow["tokenUrl"], "http://127.0.0.1:9123/oauth/token");
    assert!(!pets.to_string().contains("8080"), "{pets}");
}

#[test]
fn documents_have_the_versions_of_the_public_descriptions() {
    let folder = tempfile::tempdir().unwrap();
    for (service, version, label, prefix) in [
        ("petstore", "1.0.20-SNAPSHOT", json!(null), "/v3"),
        ("train", "1.0.0", json!(null), ""),
        ("museum", "1.1.0", json!("@yummy-bear"), "/v1.1"),
    ] {
        let output = bare(folder.path(), &["openapi", service]).output().unwrap();
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(document["info"]["version"], version, "{service}");
        assert_eq!(document["info"]["x-version-label"], label, "{service}");
        // Where there is a version in the paths, it is in every one of them.
        let server = document["servers"][0]["url"].as_str().unwrap();
        assert_eq!(url::Url::parse(server).unwrap().path().trim_end_matches('/'), prefix, "{service}");
    }
}

#[test]
fn closed_pipe_ends_printing_commands_without_error() {
    let folder = tempfile::tempdir().unwrap();
    for arguments in [&["openapi", "train"][..], &["config"]] {
        let mut command = bare(folder.path(), arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()), "{arguments:?}");
    }
}

#[tokio::test]
async fn clients_behind_a_trusted_proxy_are_distinguished() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = bare(folder.path(), FREE_PORTS);
    command.arg("--demo").env("TRIPTYCH_TRUSTED_PROXIES", "[\"127.0.0.0/8\"]");
    let program = testkit::Program::start(&mut command);
    let museum = Client::new(program.address("museum"));
    let sign_in = async |password: &str, from: &str| {
        let call = museum.signed_in("demo", password).get("/v1.1/special-events");
        call.header("x-forwarded-for", from).send().await.status
    };
    for _ in 0..10 {
        assert_eq!(sign_in("wrong", "203.0.113.9").await, 401);
    }
    assert_eq!(sign_in("demo", "203.0.113.9").await, 429);
    assert_eq!(sign_in("demo", "198.51.100.7").await, 200);
}
