//! Sandboxes are created, used, limited and deleted.

use sandbox::Limits;
use serde_json::{Value, json};
use testkit::{Answer, Engine, Store, on_both_engines};

use crate::fixture::{OPERATOR, Process, World, is_problem};

on_both_engines! {
    async fn sandbox_has_its_own_data(world: World) {
        let process = &world.process;
        let [ada, bob] = [process.create("ada").await, process.create("bob").await];
        assert_eq!(ada["name"], "ada");
        let key = |path: &str| process.petstore.get(path).header("api_key", "special-key");
        key("/sandbox/ada/v3/pet/1").send().await.has_status(200);
        // The deletion in one is not seen in the other.
        let delete = process.control("PUT", &ada, "/sign-in", Some(json!({"mode": "off"}))).await;
        delete.has_status(200);
        process.petstore.delete("/sandbox/ada/v3/pet/1").send().await.has_status(200);
        let gone = process.petstore.get("/sandbox/ada/v3/pet/1").send().await;
        is_problem(&gone, 404, "/sandbox/ada", "not-found");
        key("/sandbox/bob/v3/pet/1").send().await.has_status(200);
        // Nor are the controls.
        let refused = process.petstore.get("/sandbox/bob/v3/pet/1").send().await;
        is_problem(&refused, 401, "/sandbox/bob", "unauthorized");
        process.museum.signed_in("demo", "demo").get("/sandbox/bob/v1.1/special-events").send().await.has_status(200);
        let refused = process.train.get("/sandbox/bob/stations").send().await;
        is_problem(&refused, 401, "/sandbox/bob", "unauthorized");
        assert_ne!(ada["control_token"], bob["control_token"]);
    }

    async fn start_page_names_the_sandbox(world: World) {
        let process = &world.process;
        process.create("ada").await;
        for (client, title) in
            [(&process.petstore, "Pet store"), (&process.train, "Train travel"), (&process.museum, "Museum")]
        {
            let page = client.get("/sandbox/ada/").send().await.has_status(200).text();
            assert!(page.contains(title) && page.contains(" · ada</title>"), "{page}");
            assert!(page.contains("title=\"Sandbox ada\">ada</span>"), "{page}");
        }
    }

    async fn unknown_and_invalid_names_are_not_found(world: World) {
        let process = &world.process;
        for path in ["/sandbox/ada/v3/pet/1", "/sandbox/Ada/", "/sandbox/", "/sandbox/a..b/v3", "/sandbox/template/"] {
            let detail = process.petstore.get(path).send().await.is_problem(404, "not-found");
            assert_eq!(detail, "There is no sandbox with this name. Create it with POST /sandboxes.", "{path}");
        }
    }

    async fn invalid_names_are_rejected_with_the_rule(world: World) {
        let process = &world.process;
        let rule = "must be 1 to 32 lower-case letters, digits and dashes, without a dash at either end";
        let long = "must be at most 32 characters long, not 33";
        let rejected = |answer: &Answer, prefix: &str, pointer: &str, detail: &str| {
            is_problem(answer, 400, prefix, "invalid-request");
            assert_eq!(answer.json()["errors"], json!([{"pointer": pointer, "detail": detail}]));
        };
        let ada = process.create("ada").await;
        for (name, detail) in [
            ("", "must not be empty"), ("A", rule), ("Ada", rule), ("-a", rule), ("a-", rule), ("a_b", rule),
            ("ä", rule), ("a b", rule), (&*"x".repeat(33), long),
        ] {
            let create = async |body: Value| process.petstore.post("/sandboxes").json(&body).send().await;
            rejected(&create(json!({"name": name})).await, "/sandboxes", "#/name", detail);
            rejected(&create(json!({"name": "bob", "class": name})).await, "/sandboxes", "#/class", detail);
            let saved = process.control("POST", &ada, "/snapshots", Some(json!({"name": name}))).await;
            rejected(&saved, "/sandbox/ada/_control", "#/name", detail);
        }
        for name in ["template", "template-x"] {
            let answer = process.petstore.post("/sandboxes").json(&json!({"name": name})).send().await;
            rejected(&answer, "/sandboxes", "#/name", "must not begin with template");
            process.control("POST", &ada, "/snapshots", Some(json!({"name": name}))).await.has_status(201);
        }
    }

    async fn page_of_another_site_creates_no_sandbox(world: World) {
        let process = &world.process;
        let create = async |origin: &str, token: Option<&str>| {
            let call = process.petstore.post("/sandboxes").header("origin", origin).json(&json!({}));
            match token {
                Some(token) => call.header("authorization", &format!("Bearer {token}")).send().await,
                None => call.send().await,
            }
        };
        for origin in ["https://pages.example.com", "http://127.0.0.1:1", "null", ""] {
            let refused = create(origin, None).await;
            let detail = is_problem(&refused, 403, "/sandboxes", "forbidden");
            assert_eq!(detail, "A page of another site cannot create a sandbox without the operator's token.", "{origin}");
            create(origin, Some(OPERATOR)).await.has_status(201);
        }
        // The pages of all services can.
        for client in [&process.petstore, &process.museum] {
            create(&format!("http://{}", client.address()), None).await.has_status(201);
        }
    }

    async fn name_is_taken_until_its_sandbox_is_deleted(world: World) {
        let process = &world.process;
        let ada = process.create("ada").await;
        let again = process.museum.post("/sandboxes").json(&json!({"name": "ada"})).send().await;
        is_problem(&again, 409, "/sandboxes", "name-taken");
        process.control("DELETE", &ada, "", None).await.has_status(204);
        process.petstore.get("/sandbox/ada/v3/pet/1").send().await.is_problem(404, "not-found");
        process.control("GET", &ada, "", None).await.is_problem(404, "not-found");
        let databases = process.databases.clone();
        let groups = tokio::task::spawn_blocking(move || databases.groups()).await.unwrap().unwrap();
        assert!(!groups.contains(&"ada".into()), "{groups:?}");
        process.create("ada").await;
    }

    async fn control_token_of_one_sandbox_is_refused_by_another(world: World) {
        let process = &world.process;
        let (ada, bob) = (process.create("ada").await, process.create("bob").await);
        let foreign = json!({"name": "bob", "control_token": ada["control_token"]});
        for (method, path) in [("GET", ""), ("DELETE", ""), ("POST", "/reset"), ("GET", "/clock"), ("GET", "/snapshots")] {
            let refused = process.control(method, &foreign, path, None).await;
            is_problem(&refused, 401, "/sandbox/bob/_control", "unauthorized");
            process.control(method, &json!({"name": "bob", "control_token": ""}), path, None).await.has_status(401);
        }
        process.control("GET", &bob, "", None).await.has_status(200);
        let operator = json!({"name": "bob", "control_token": OPERATOR});
        process.control("GET", &operator, "", None).await.has_status(200);
    }

    async fn operator_lists_the_sandboxes(world: World) {
        let process = &world.process;
        process.create("bob").await;
        process.create("ada").await;
        let refused = process.petstore.get("/sandboxes").send().await;
        is_problem(&refused, 401, "/sandboxes", "unauthorized");
        let operator = format!("Bearer {OPERATOR}");
        let answer = process.train.get("/sandboxes?limit=1").header("authorization", &operator).send().await;
        let names = |answer: Value| answer["sandboxes"].as_array().unwrap().iter().map(|one| one["name"].clone()).collect::<Vec<_>>();
        assert_eq!(names(answer.json()), ["ada"]);
        let answer = process.train.get("/sandboxes?after=ada").header("authorization", &operator).send().await;
        assert_eq!(names(answer.json()), ["bob"]);
    }
}

#[tokio::test]
async fn address_has_a_limit_and_other_callers_need_the_operators_token() {
    let store = Store::new(Engine::Sqlite);
    let limits = Limits { per_address: 1, most: 2, ..Limits::default() };
    let process = Process::start(&store, true, limits).await;
    process.create("ada").await;
    let post = || process.petstore.post("/sandboxes");
    let create = async |call: testkit::Call| call.json(&json!({})).send().await;
    let refused = create(post()).await;
    is_problem(&refused, 429, "/sandboxes", "too-many-requests");
    // To wait does not help, unlike to delete a sandbox.
    assert_eq!(refused.header("retry-after"), "");
    let operator = format!("Bearer {OPERATOR}");
    create(post().header("authorization", &operator)).await.has_status(201);
    let full = create(post().header("authorization", &operator)).await;
    is_problem(&full, 429, "/sandboxes", "too-many-requests");
    assert_eq!(full.header("retry-after"), "600");
    let wrong = create(post().header("authorization", "Bearer x")).await;
    is_problem(&wrong, 401, "/sandboxes", "unauthorized");
    drop(process);
    let closed = Process::start(&store, false, Limits::default()).await;
    is_problem(&create(closed.petstore.post("/sandboxes")).await, 401, "/sandboxes", "unauthorized");
}

/// A process was killed while it created or deleted a sandbox: the registry and the files are as it left them.
#[tokio::test]
async fn interrupted_creation_or_deletion_is_finished_at_the_next_start_on_sqlite() {
    let store = Store::new(Engine::Sqlite);
    let process = Process::start(&store, true, Limits::default()).await;
    for name in ["ada", "bob", "eve"] {
        process.create(name).await;
    }
    process.stop().await;
    let databases = store.connect();
    let registry = databases.open(sandbox::DATABASE, sandbox::MIGRATIONS).unwrap();
    for (name, status) in [("ada", "deleting"), ("bob", "creating")] {
        let set = move |tx: &mut db::WriteTx<'_>| {
            tx.execute("UPDATE sandbox SET status = $2 WHERE name = $1", &[name.into(), status.into()])
        };
        assert_eq!(registry.write(set).await.unwrap(), 1);
    }
    drop((registry, databases));
    let process = Process::start(&store, true, Limits::default()).await;
    let databases = process.databases.clone();
    let groups = tokio::task::spawn_blocking(move || databases.groups()).await.unwrap().unwrap();
    let sandboxes: Vec<_> = groups.iter().filter(|group| !group.starts_with("template")).collect();
    assert_eq!(sandboxes, ["eve"]);
    for name in ["ada", "bob"] {
        process.create(name).await;
    }
    process
        .petstore
        .get("/sandbox/eve/v3/pet/1")
        .header("api_key", "special-key")
        .send()
        .await
        .has_status(200);
}
