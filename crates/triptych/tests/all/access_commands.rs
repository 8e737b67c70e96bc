//! `triptych token`, `triptych client …` and `triptych key …`, while the service runs.

use crate::common::{Workspace, printed, refused, with_input};
use serde_json::json;
use testkit::{Answer, Client, Engine, Program, Store};

const SOLD: &str = "/v3/pet/findByStatus?status=sold";

fn refusal(workspace: &Workspace, arguments: &[&str]) -> String {
    refused(&workspace.command(arguments).output().unwrap())
}

async fn with_token(store: &Client, path: &str, token: &str) -> Answer {
    store.get(path).header("authorization", &format!("Bearer {token}")).send().await
}

testkit::on_both_engines! {
    async fn token_command_prints_only_a_valid_token(workspace: Workspace) {
        let program = workspace.serve();
        let store = Client::new(program.address("petstore"));
        let token = printed(&workspace, &["token", "petstore"]);
        assert!(!token.contains(char::is_whitespace), "{token}");
        let names: Vec<_> = with_token(&store, SOLD, &token).await.has_status(200).json().as_array().unwrap().iter()
            .map(|pet| pet["name"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(names, ["Waldi", "Hopper"]);

        let less = printed(&workspace, &["token", "petstore", "--user", "user1", "--scope", "read:pets"]);
        let answer = with_token(&store, SOLD, &less).await;
        answer.is_problem(403, "forbidden");
        assert!(answer.header("www-authenticate").ends_with(
            "error=\"insufficient_scope\", scope=\"write:pets read:pets\""
        ));
        assert_eq!(refusal(&workspace, &["token", "petstore", "--user", "unknown"]), "triptych: there is no user \"unknown\"");
        let scope = refusal(&workspace, &["token", "petstore", "--scope", "read:pets fly"]);
        assert!(scope.contains("fly"), "{scope}");
        assert!(program.terminate().success());
        assert_eq!(
            refused(&workspace.command(&["token", "petstore"]).env("TRIPTYCH_DEMO", "off").output().unwrap()),
            "triptych: name the user of the token, with --user"
        );
    }

    async fn token_command_works_without_the_demo(workspace: Workspace) {
        let program = Program::start(&mut workspace.serving_without_demo());
        let store = Client::new(program.address("petstore"));
        let added = with_input(&mut workspace.command(&["user", "add", "petstore", "ada"]), "correct horse\n");
        assert!(added.status.success(), "{}", String::from_utf8_lossy(&added.stderr));
        store.get("/v3/user/ada").send().await.is(200, &json!({"id": 1, "username": "ada"}));
        let login = store.get("/v3/user/login?username=ada&password=correct%20horse").send().await;
        login.has_status(200);
        let mut command = workspace.command(&["token", "petstore", "--user", "ada"]);
        let output = command.env("TRIPTYCH_DEMO", "off").output().unwrap();
        let token = String::from_utf8(output.stdout).unwrap();
        with_token(&store, SOLD, token.trim_end()).await.is(200, &json!([]));
        // The tokens of a removed user are rejected.
        assert!(workspace.command(&["user", "remove", "petstore", "ada"]).output().unwrap().status.success());
        store.get("/v3/user/ada").send().await.is_problem(404, "not-found");
    }

    async fn clients_are_added_and_removed_while_the_service_runs(workspace: Workspace) {
        let program = workspace.serve();
        let store = Client::new(program.address("petstore"));
        let said = printed(&workspace, &["client", "add", "petstore", "Nightly job", "--confidential", "--scope", "read:pets"]);
        let (id, secret) = said.split_once('\n').unwrap();
        let id = id.strip_prefix("client_id: ").unwrap();
        let secret = secret.strip_prefix("client_secret: ").unwrap();
        let ask = async || {
            let form = "grant_type=client_credentials";
            let call = store.signed_in(id, secret).post("/oauth/token");
            call.body("application/x-www-form-urlencoded", form).send().await
        };
        let bought = ask().await;
        assert_eq!(bought.has_status(200).json()["scope"], "read:pets");
        assert_eq!(printed(&workspace, &["client", "remove", "petstore", id]), format!("{id}: removed"));
        assert_eq!(ask().await.has_status(401).json()["error"], "invalid_client");
        assert_eq!(
            refusal(&workspace, &["client", "remove", "petstore", id]),
            format!("triptych: there is no client {id:?}")
        );

        let public = printed(&workspace, &["client", "add", "petstore", "App", "--redirect", "https://app.example.com/back"]);
        assert!(public.starts_with("client_id: ") && !public.contains('\n'), "{public}");
        for (arguments, why) in [
            (&["App"][..], "redirect"),
            (&["App", "--redirect", "http://app.example.com/back"], "address of this machine"),
            (&["App", "--redirect", "https://app.example.com/back", "--scope", "fly"], "fly"),
            (&["", "--redirect", "https://app.example.com/back"], "name"),
        ] {
            let said = refusal(&workspace, &[&["client", "add", "petstore"], arguments].concat());
            assert!(said.contains(why), "{said}");
        }
    }

    async fn client_of_a_resource_introspects_its_tokens(workspace: Workspace) {
        let program = workspace.serve();
        let address = program.address("petstore");
        let store = Client::new(address);
        let resource = format!("http://{address}/v3");
        let said = printed(&workspace, &["client", "add", "petstore", "Gateway", "--resource", &format!("http://{address}")]);
        let (id, secret) = said.split_once('\n').unwrap();
        let gateway = store.signed_in(
            id.strip_prefix("client_id: ").unwrap(), secret.strip_prefix("client_secret: ").unwrap(),
        );
        let token = printed(&workspace, &["token", "petstore"]);
        let call = gateway.post("/oauth/introspect").body("application/x-www-form-urlencoded", format!("token={token}"));
        let about = call.send().await.has_status(200).json();
        assert_eq!((&about["active"], &about["client_id"]), (&true.into(), &"triptych".into()));
        assert!(printed(&workspace, &["client", "add", "petstore", "API", "--resource", &resource]).contains("client_secret: "));
        assert_eq!(
            refusal(&workspace, &["client", "add", "petstore", "Other", "--resource", "https://other.example"]),
            "triptych: there is no resource \"https://other.example\" here"
        );
    }

    async fn keys_are_added_and_removed_while_the_service_runs(workspace: Workspace) {
        let program = workspace.serve();
        let store = Client::new(program.address("petstore"));
        let count = async |key: &str| store.get("/v3/store/inventory").header("api_key", key).send().await;
        let key = printed(&workspace, &["key", "add", "petstore", "shop window"]);
        assert_eq!(key.len(), 43);
        count(&key).await.is(200, &json!({"available": 7, "pending": 2, "sold": 2}));
        assert_eq!(
            refusal(&workspace, &["key", "add", "petstore", "shop window"]),
            "triptych: there is a key \"shop window\" already"
        );
        assert_eq!(
            refusal(&workspace, &["key", "add", "petstore", " "]),
            "triptych: a key's name must have 1 to 100 characters"
        );
        assert_eq!(printed(&workspace, &["key", "remove", "petstore", "shop window"]), "shop window: removed");
        count(&key).await.is_problem(401, "unauthorized");
        assert_eq!(
            refusal(&workspace, &["key", "remove", "petstore", "shop window"]),
            "triptych: there is no key \"shop window\""
        );
    }
}

#[test]
fn token_command_is_rejected_with_an_external_issuer() {
    let folder = tempfile::tempdir().unwrap();
    for arguments in [&["token", "petstore"][..], &["client", "remove", "petstore", "x"]] {
        let mut command = crate::common::bare(folder.path(), arguments);
        let output =
            command.env("TRIPTYCH_PETSTORE_OAUTH_ISSUER", "https://id.example.com").output().unwrap();
        let expected = "triptych: the tokens of this service come from https://id.example.com; ask there";
        assert_eq!(refused(&output), expected);
    }
}

#[tokio::test]
async fn service_accepts_tokens_of_an_external_issuer() {
    let workspace = || Workspace { store: Store::new(Engine::Sqlite), folder: tempfile::tempdir().unwrap() };
    let (issuing, taking) = (workspace(), workspace());
    let issuer = issuing.serve();
    let url = format!("http://{}", issuer.address("train"));
    let mut command = taking.serving();
    command.args(["--train-issuer", &url]).env("TRIPTYCH_TRAIN_OAUTH_AUDIENCE", &url);
    let program = Program::start(&mut command);
    let train = Client::new(program.address("train"));
    let token = printed(&issuing, &["token", "train", "--user", "alice", "--scope", "read"]);
    // The keys are fetched after the start. Until then each call gets 503.
    let mut answer = with_token(&train, "/stations?limit=1", &token).await;
    while answer.status == 503 {
        assert_ne!(answer.header("retry-after"), "");
        answer = with_token(&train, "/stations?limit=1", &token).await;
    }
    answer.has_status(200);
    let booking = json!({"trip_id": "00000000-0000-0000-0000-000000000000", "passenger_name": "Ada"});
    let call = train.post("/bookings").header("authorization", &format!("Bearer {token}")).json(&booking);
    call.send().await.is_problem(403, "forbidden");
    let own = printed(&taking, &["token", "petstore"]);
    with_token(&train, "/stations", &own).await.is_problem(401, "unauthorized");

    // Clients are sent to the issuer; this service has no authorization server.
    let here = format!("http://{}", program.address("train"));
    let metadata = train.get("/.well-known/oauth-protected-resource").send().await;
    assert_eq!(metadata.has_status(200).json()["authorization_servers"], json!([url]));
    assert_eq!(metadata.json()["resource"], here);
    train.get("/oauth/authorize").send().await.is_problem(404, "not-found");
    train.get("/.well-known/oauth-authorization-server").send().await.is_problem(404, "not-found");
    assert!(issuer.terminate().success());
    // Its keys go on counting while it is away.
    with_token(&train, "/stations?limit=1", &token).await.has_status(200);
}

/// Without credentials, calls count by address: each operation that its document says needs none.
#[tokio::test]
async fn operations_without_credentials_are_limited_by_address() {
    let workspace = Workspace { store: Store::new(Engine::Sqlite), folder: tempfile::tempdir().unwrap() };
    let mut command = workspace.serving();
    command
        .arg("--demo")
        .env("TRIPTYCH_TRUSTED_PROXIES", "[\"127.0.0.1/32\"]")
        .env("TRIPTYCH_LIMITS_ANONYMOUS_CALLS_PER_HOUR", "1");
    let program = Program::start(&mut command);
    let mut limited = Vec::new();
    for (service, prefix) in [("petstore", "/v3"), ("train", ""), ("museum", "/v1.1")] {
        let client = Client::new(program.address(service));
        let document = client.get("/openapi.json").send().await.json();
        for (path, item) in document["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap() {
                let security = operation.get("security").or(document.get("security"));
                if !security.is_none_or(|all| all.as_array().unwrap().contains(&json!({}))) {
                    continue;
                }
                let path =
                    path.replace("{imageId}", "019e0000-0000-7000-8000-000000000000").replace(['{', '}'], "");
                let address = format!("203.0.113.{}", limited.len() + 1);
                let call = || {
                    let call =
                        client.call(method.to_uppercase().parse().unwrap(), &format!("{prefix}{path}"));
                    call.header("x-forwarded-for", &address).send()
                };
                let answers = [call().await, call().await, call().await];
                assert_ne!(answers[0].status, 429, "{method} {path}");
                // One of the two, should the hour end in between.
                let refused = answers[1..].iter().find(|answer| answer.status == 429);
                let refused = refused.unwrap_or_else(|| panic!("{method} {path}: {}", answers[2].text()));
                refused.is_problem(429, "too-many-requests");
                assert_ne!(refused.header("retry-after"), "");
                limited.push(operation["operationId"].as_str().unwrap().to_owned());
            }
        }
    }
    for known in ["placeOrder", "getOrderById", "deleteOrder", "getUserByName", "loginUser", "getMuseumHours"]
    {
        assert!(limited.iter().any(|found| found == known), "{known}: {limited:?}");
    }
}
