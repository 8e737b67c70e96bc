//! `triptych backup`, `triptych restore` and `triptych move`.

use std::{fs, io::Read as _, os::unix::fs::PermissionsExt as _};

use db::Location;
use serde_json::{Value, json};
use testkit::{Client, Engine, Program, Store};

use crate::{
    common::{Workspace, failed_with, output_of, refused},
    database::proxied,
};

const ENGINES: [Engine; 2] = [Engine::Sqlite, Engine::Postgres];

fn workspace(engine: Engine) -> Workspace {
    Workspace { store: Store::new(engine), folder: tempfile::tempdir().unwrap() }
}

fn petstore(program: &Program) -> Client {
    Client::new(program.address("petstore"))
}

async fn create_pet(workspace: &Workspace, program: &Program, name: &str) -> i64 {
    let call = petstore(program).post("/v3/pet").header("authorization", &workspace.token("petstore"));
    let pet =
        json!({"name": name, "photoUrls": ["https://example.com/rex.png"], "tags": [{"id": 1, "name": "ä"}]});
    call.json(&pet).send().await.has_status(200).json()["id"].as_i64().unwrap()
}

/// Uses each service and a sandbox. Gives the id of a pet.
async fn use_all(workspace: &Workspace, program: &Program) -> i64 {
    let id = create_pet(workspace, program, "Rex").await;
    let call = petstore(program).post(&format!("/v3/pet/{id}/uploadImage"));
    let call = call.header("authorization", &workspace.token("petstore"));
    call.body("application/octet-stream", vec![7; 300_000]).send().await.has_status(200);
    let train = Client::new(program.address("train"));
    let document = train.get("/openapi.json").send().await.json();
    let content = &document["paths"]["/bookings"]["post"]["requestBody"]["content"];
    let call = train.post("/bookings").header("authorization", &workspace.train_token());
    call.json(&content["application/json"]["example"]).send().await.has_status(201);
    petstore(program).post("/sandboxes").json(&json!({"name": "ada"})).send().await.has_status(201);
    let call = petstore(program).delete("/sandbox/ada/v3/pet/1").header("api_key", "special-key");
    call.send().await.has_status(200);
    id
}

/// The installation has the data of [`use_all`].
async fn has_all(workspace: &Workspace, id: i64) {
    let checked: Value =
        serde_json::from_str(&output_of(&mut workspace.command(&["check", "--json"]))).unwrap();
    assert!(checked["checks"].as_array().unwrap().iter().all(|check| check["ok"] == true), "{checked}");
    let program = workspace.serve();
    let get = |path: String| petstore(&program).get(&path).header("api_key", "special-key").send();
    let pet = get(format!("/v3/pet/{id}")).await.has_status(200).json();
    assert_eq!((&pet["name"], &pet["tags"][0]["name"]), (&json!("Rex"), &json!("ä")));
    get("/sandbox/ada/v3/pet/1".into()).await.has_status(404);
    get("/sandbox/ada/v3/pet/2".into()).await.has_status(200);
    let call = Client::new(program.address("train")).get("/bookings");
    let bookings = call.header("authorization", &workspace.train_token()).send().await.json();
    assert_eq!(bookings["data"].as_array().unwrap().len(), 1, "{bookings}");
}

/// What a command prints as JSON: for each database its sandbox, its outcome, and its tables.
fn databases(printed: &str) -> Vec<(String, Value, String, Value)> {
    let printed: Value = serde_json::from_str(printed).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let all = printed["databases"].as_array().unwrap().iter();
    all.map(|one| {
        (text(&one["database"]), one["sandbox"].clone(), text(&one["outcome"]), one["tables"].clone())
    })
    .collect()
}

fn outcomes(printed: &str) -> Vec<String> {
    let all = databases(printed).into_iter();
    all.map(|(database, sandbox, outcome, _)| {
        format!("{database} {} {outcome}", sandbox.as_str().unwrap_or("-"))
    })
    .collect()
}

/// The tables of each database.
fn tables(printed: &str) -> Vec<(String, Value, Value)> {
    databases(printed).into_iter().map(|(database, sandbox, _, tables)| (database, sandbox, tables)).collect()
}

const MEMBERS: [&str; 7] =
    ["petstore -", "train -", "museum -", "sandbox -", "petstore ada", "train ada", "museum ada"];

fn all(outcome: &str) -> Vec<String> {
    MEMBERS.iter().map(|member| format!("{member} {outcome}")).collect()
}

testkit::on_both_engines! {
    async fn backup_of_a_running_server_is_restored_into_either_engine(workspace: Workspace) {
        let program = workspace.serve();
        let id = use_all(&workspace, &program).await;
        let file = workspace.folder.path().join("all.backup");
        let path = file.to_str().unwrap();
        // Calls go on meanwhile.
        let calls = async { for _ in 0..20 { create_pet(&workspace, &program, "Max").await; } };
        let mut command = workspace.command(&["backup", path, "--json"]);
        let backup = tokio::task::spawn_blocking(move || command.output().unwrap());
        let (output, ()) = tokio::join!(backup, calls);
        let output = output.unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let written = String::from_utf8(output.stdout).unwrap();
        assert_eq!(outcomes(&written), all("written"));
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let again = refused(&workspace.command(&["backup", path]).output().unwrap());
        assert_eq!(again, format!("triptych: cannot write {path}: it exists already"));
        drop(program);
        for engine in ENGINES {
            let restored = crate::transfer::workspace(engine);
            let printed = output_of(&mut restored.command(&["restore", path, "--json"]));
            assert_eq!(outcomes(&printed), all("restored"));
            assert_eq!(tables(&printed), tables(&written));
            // A restore that was interrupted goes on.
            let printed = output_of(&mut restored.command(&["restore", path, "--json"]));
            assert_eq!(outcomes(&printed), all("there already"));
            has_all(&restored, id).await;
            let changed = failed_with(1, &restored.command(&["restore", path]).output().unwrap());
            let said = " exists already, with other data: restore into an empty folder or database";
            assert!(changed.ends_with(said), "{changed}");
        }
    }

    async fn move_that_is_killed_goes_on_when_it_is_started_again(workspace: Workspace) {
        let program = workspace.serve();
        let id = use_all(&workspace, &program).await;
        assert!(program.terminate().success());
        let target = match workspace.store.engine() {
            Engine::Sqlite => Engine::Postgres,
            Engine::Postgres => Engine::Sqlite,
        };
        let target = crate::transfer::workspace(target);
        let place = |location: &Location| match location {
            Location::Sqlite(folder) => folder.display().to_string(),
            Location::Postgres(url) => url.clone(),
        };
        let (from, to) = (place(workspace.store.location()), place(target.store.location()));
        // Each use of a database has a connection of its own, which the proxy counts.
        let (url, store) = match workspace.store.engine() {
            Engine::Postgres => (&from, &workspace.store),
            Engine::Sqlite => (&to, &target.store),
        };
        let (proxy, through) = proxied(store);
        proxy.forward();
        let moving = |from: &str, to: &str| {
            let mut command = crate::common::bare(workspace.folder.path(), &["move", "--from", from, "--to", to, "--json"]);
            command.stdout(std::process::Stdio::piped());
            command
        };
        for connections in [1, 2, 5, 10, 14, 18] {
            let slow = |place: &String| if place == url { through.clone() } else { place.clone() };
            let mut running = moving(&slow(&from), &slow(&to)).spawn().unwrap();
            for _ in 0..connections {
                proxy.wait_for_attempt();
            }
            running.kill().unwrap();
            running.wait().unwrap();
        }
        let printed = output_of(&mut moving(&from, &to));
        let found = outcomes(&printed);
        let is_expected = |(found, member): (&String, &&str)| {
            *found == format!("{member} moved") || *found == format!("{member} there already")
        };
        assert!(found.len() == MEMBERS.len() && found.iter().zip(&MEMBERS).all(is_expected), "{found:?}");
        assert_eq!(outcomes(&output_of(&mut moving(&from, &to))), all("there already"));
        // And back, into an empty place.
        let back = crate::transfer::workspace(workspace.store.engine());
        let printed_back = output_of(&mut moving(&to, &place(back.store.location())));
        assert_eq!(outcomes(&printed_back), all("moved"));
        assert_eq!(tables(&printed_back), tables(&printed));
        has_all(&target, id).await;
        has_all(&back, id).await;
        let other = failed_with(1, &moving(&from, &to).output().unwrap());
        assert!(other.ends_with(" exists already at --to, with other data: move into an empty folder or database"), "{other}");
    }
}

#[tokio::test]
async fn damaged_backup_changes_nothing() {
    let workspace = workspace(Engine::Sqlite);
    drop(workspace.serve());
    let file = workspace.folder.path().join("all.backup");
    output_of(&mut workspace.command(&["backup", file.to_str().unwrap()]));
    let whole = fs::read(&file).unwrap();
    let mut text = String::new();
    flate2::read::GzDecoder::new(&*whole).read_to_string(&mut text).unwrap();
    let compressed = |text: &str| {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut out, text.as_bytes()).unwrap();
        out.finish().unwrap()
    };
    let target = workspace.folder.path().join("restored");
    let restore = |bytes: &[u8]| {
        let damaged = workspace.folder.path().join("damaged.backup");
        fs::write(&damaged, bytes).unwrap();
        let mut command =
            crate::common::bare(workspace.folder.path(), &["restore", damaged.to_str().unwrap()]);
        command.arg("--data").arg(&target).output().unwrap()
    };
    let (head, tail) = text.split_at(text.rfind("{\"end\"").unwrap());
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    for (bytes, why) in [
        (flipped, None),
        (whole[..whole.len() / 2].to_vec(), None),
        (b"no backup".to_vec(), None),
        (Vec::new(), None),
        (compressed(head), Some("it has no proper end")),
        (compressed(&format!("{text}{text}")), Some("it has no proper end")),
        (
            compressed(&text.replacen("Minka", "Monka", 1)),
            Some("the rows of a table are not those that were written"),
        ),
        (
            compressed(&format!("{}{tail}", head.replace("\"program\"", " \"program\""))),
            Some("its checksum is not right"),
        ),
    ] {
        let said = failed_with(1, &restore(&bytes));
        assert!(said.starts_with("triptych: the backup is damaged: "), "{said}");
        if let Some(why) = why {
            assert_eq!(said, format!("triptych: the backup is damaged: {why}"));
        }
        assert!(!target.exists());
    }
    let newer = compressed(&text.replacen("\"format\":1", "\"format\":2", 1));
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(
        refused(&restore(&newer)),
        format!(
            "triptych: the backup has the format 2, and this program reads format 1: use triptych {version}, which wrote it"
        )
    );
    assert!(!target.exists());
    assert!(restore(&whole).status.success());
}

#[test]
fn wrong_places_are_refused() {
    let workspace = workspace(Engine::Sqlite);
    let folder = workspace.folder.path();
    let run = |arguments: &[&str]| refused(&crate::common::bare(folder, arguments).output().unwrap());
    assert_eq!(
        run(&["move", "--from", "missing", "--to", "other"]),
        "triptych: there is no folder missing: check --from"
    );
    assert_eq!(
        run(&["move", "--from", "here", "--to", "here"]),
        "triptych: --from and --to are the same place"
    );
    assert_eq!(
        run(&["backup", "x.backup", "--data", "missing"]),
        "triptych: there is no data here: check --data or --database"
    );
    assert!(!folder.join("missing").exists() && !folder.join("x.backup").exists());
    assert_eq!(
        run(&["restore", "nothing.backup", "--data", "missing"]),
        "triptych: cannot read nothing.backup: No such file or directory (os error 2)"
    );
    assert!(!folder.join("missing").exists());
}
