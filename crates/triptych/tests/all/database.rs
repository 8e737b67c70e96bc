//! PostgreSQL that is not there yet, vanishes, or is shared; tables that cannot be read.

use std::{fs, net::SocketAddr, os::unix::fs::PermissionsExt, process::Command, thread};

use crate::common::{FREE_PORTS, Workspace, bare, museum, refused};
use db::{Db, Limits};
use serde_json::json;
use testkit::{Client, Engine, Program, Proxy, Store, TlsPostgres};

fn on_postgres(test: impl AsyncFnOnce(Workspace)) {
    testkit::run(Engine::Postgres, test);
}

/// A proxy in front of the test's server, and the URL through it.
pub(crate) fn proxied(store: &Store) -> (Proxy, String) {
    let url = &store.flags()[1];
    let server = url.split('@').nth(1).unwrap().split('/').next().unwrap();
    let proxy = Proxy::refusing(server.parse::<SocketAddr>().unwrap());
    let url = url.replace(server, &proxy.address().to_string());
    (proxy, url)
}

fn serving(workspace: &Workspace, url: &str) -> Command {
    let mut command = bare(workspace.folder.path(), &["serve", "--database", url]);
    command.args(FREE_PORTS);
    command
}

#[test]
fn silent_database_server_gets_503_until_it_answers_again() {
    on_postgres(async |workspace| {
        let (proxy, url) = proxied(&workspace.store);
        proxy.forward();
        let program = Program::start(serving(&workspace, &url).env("TRIPTYCH_LIMITS_DATABASE_SECONDS", "1"));
        let museum = museum(&program);
        let ticket = json!({"ticketType": "general", "ticketDate": "9990-05-05", "email": "a@example.com"});
        museum.get("/v1.1/special-events").send().await.has_status(200);
        museum.post("/v1.1/tickets").json(&ticket).send().await.has_status(201);
        for _ in 0..2 {
            proxy.swallow();
            let readers = (0..8).map(|_| museum.get("/v1.1/special-events").send());
            let writers = (0..8).map(|_| museum.post("/v1.1/tickets").json(&ticket).send());
            for answer in futures_util::future::join_all(readers.collect::<Vec<_>>()).await {
                answer.is_problem(503, "unavailable");
                assert_eq!(answer.header("retry-after"), "5");
            }
            for answer in futures_util::future::join_all(writers.collect::<Vec<_>>()).await {
                answer.is_problem(503, "unavailable");
            }
            museum.get("/readyz").send().await.is_problem(503, "unavailable");
            proxy.forward();
            museum.get("/readyz").send().await.has_status(200);
            museum.get("/v1.1/special-events").send().await.has_status(200);
            museum.post("/v1.1/tickets").json(&ticket).send().await.has_status(201);
        }
        program.kill();
    });
}

#[test]
fn start_waits_for_the_database_server() {
    on_postgres(async |workspace| {
        let (proxy, url) = proxied(&workspace.store);
        let mut command = serving(&workspace, &url);
        let start = thread::spawn(move || Program::start(&mut command));
        for _ in 0..3 {
            proxy.wait_for_attempt();
        }
        proxy.forward();
        let program = start.join().unwrap();
        let waiting = format!("waiting up to 30 seconds for the database at {}: ", proxy.address());
        assert_eq!(program.logged().matches(&waiting).count(), 1, "{}", program.logged());
        museum(&program).get("/readyz").send().await.has_status(200);
        program.kill();
    });
}

#[test]
fn settings_that_lose_writes_are_logged() {
    on_postgres(async |workspace| {
        let warning = "so that a crash can lose acknowledged writes: fsync, full_page_writes";
        let program = workspace.serve();
        assert_eq!(program.logged().matches(warning).count(), 1, "{}", program.logged());
        program.kill();
        let folder = tempfile::tempdir().unwrap();
        let url = testkit::DurablePostgres::start(&folder.path().join("postgres")).unwrap().url();
        let program = Program::start(&mut serving(&workspace, &url));
        assert!(!program.logged().contains("a crash can lose"), "{}", program.logged());
        program.kill();
    });
}

#[test]
fn database_url_can_be_in_a_file() {
    on_postgres(async |workspace| {
        let file = workspace.folder.path().join("url");
        fs::write(&file, format!("{}\n", workspace.store.flags()[1])).unwrap();
        for mode in [0o600, 0o640, 0o400] {
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
            let mut command = bare(workspace.folder.path(), &["serve", "museum", "--database-file", "url"]);
            let program = Program::start(command.args(FREE_PORTS));
            assert!(
                program.said().contains(", PostgreSQL at postgres://postgres@127.0.0.1:"),
                "{}",
                program.said()
            );
            program.kill();
        }
        let mut command = bare(workspace.folder.path(), &["config"]);
        let shown = command.env("TRIPTYCH_DATABASE_FILE", "url").output().unwrap();
        let shown = String::from_utf8(shown.stdout).unwrap();
        assert!(shown.contains("\ndatabase = \"\"\ndatabase_file = \"url\"\n"), "{shown}");
    });
}

#[test]
fn postgres_variables_set_parts_absent_from_the_url() {
    on_postgres(async |workspace| {
        let url = &workspace.store.flags()[1];
        let (server, database) = url.split('@').nth(1).unwrap().split_once('/').unwrap();
        let (host, port) = server.split_once(':').unwrap();
        let mut command = bare(workspace.folder.path(), &["serve", "museum", "--database", "postgres://"]);
        command.args(FREE_PORTS).envs([("PGHOST", host), ("PGPORT", port), ("PGUSER", "postgres")]);
        let program = Program::start(command.env("PGDATABASE", database));
        museum(&program).get("/readyz").send().await.has_status(200);
        program.kill();
        let db =
            Db::open(workspace.store.location(), "museum", museum::MIGRATIONS, Limits::default()).unwrap();
        db.ping().await.unwrap();
    });
}

#[test]
fn database_password_is_read_from_the_password_file() {
    on_postgres(async |workspace| {
        let file = workspace.folder.path().join("passwords");
        fs::write(&file, format!("localhost:*:postgres:postgres:{}\n", TlsPostgres::PASSWORD)).unwrap();
        let url = TlsPostgres::get().url("localhost", "sslmode=require");
        let url = url.replace(&format!(":{}@", TlsPostgres::PASSWORD), "@");
        let mut command = bare(workspace.folder.path(), &["serve", "museum", "--database", &url]);
        command.args(FREE_PORTS).env("PGPASSFILE", &file);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        let shown = file.display();
        assert_eq!(
            refused(&command.output().unwrap()),
            format!("triptych: the password file {shown} is open to other users: run chmod 600 {shown}")
        );
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        let program = Program::start(&mut command);
        museum(&program).get("/readyz").send().await.has_status(200);
        program.kill();
    });
}

#[test]
fn second_demo_at_another_address_logs_a_warning() {
    on_postgres(async |workspace| {
        let first = workspace.serve();
        let second = workspace.serve();
        let (one, other) = (first.address("train"), second.address("train"));
        let expected =
            format!("train was last started at http://{one} on this database, and now at http://{other}");
        assert!(second.logged().contains(&expected), "{}", second.logged());
        assert!(!first.logged().contains("was last started at"), "{}", first.logged());
    });
}

#[test]
fn shared_database_without_demo_needs_addresses_and_a_secret() {
    on_postgres(async |workspace| {
        let message = |service: &str, example: &str| {
            format!(
                "triptych: {service}.address must be set, as in \"{example}\": several processes may share a PostgreSQL \
                 database, and take each other's tokens only under one address"
            )
        };
        let said = refused(&workspace.serving().arg("--no-demo").output().unwrap());
        assert_eq!(said, message("petstore", "https://pets.example.com"));
        let mut public = workspace.serving();
        let public = public.args(["--demo", "--train-listen", "0.0.0.0:0"]);
        let said =
            refused(&public.env("TRIPTYCH_PETSTORE_ADDRESS", "https://pets.example.com").output().unwrap());
        assert_eq!(said, message("train", "https://trains.example.com"));
        // An external issuer's tokens are for the address as well, unless an audience is set.
        let mut external = workspace.serving();
        external.args(["--no-demo", "--petstore-issuer", "https://id.example.com"]);
        assert_eq!(refused(&external.output().unwrap()), message("petstore", "https://pets.example.com"));
        let mut without_secret = workspace.serving_without_demo();
        let said = refused(&without_secret.env_remove("TRIPTYCH_SECRET").output().unwrap());
        assert_eq!(
            said,
            "triptych: secret must be set, to what openssl rand -hex 32 prints: several processes may share a PostgreSQL \
             database, and recognise each other's Idempotency-Keys only by one secret"
        );
        // The museum has no tokens.
        let mut museum = workspace.command(&["serve", "museum", "--no-demo"]);
        Program::start(museum.args(["--museum-listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0"])).kill();
    });
}

#[test]
fn processes_with_one_address_accept_each_others_tokens() {
    on_postgres(async |workspace| {
        let user = crate::common::with_input(
            &mut workspace.command(&["user", "add", "train", "ada"]),
            "correct horse battery\n",
        );
        assert!(user.status.success(), "{user:?}");
        let start = || Program::start(&mut workspace.serving_without_demo());
        let programs = [start(), start()];
        let token = workspace
            .command(&["token", "train", "--user", "ada"])
            .env("TRIPTYCH_DEMO", "off")
            .env("TRIPTYCH_TRAIN_ADDRESS", "http://127.0.0.1:2")
            .output()
            .unwrap();
        let token = format!("Bearer {}", String::from_utf8(token.stdout).unwrap().trim_end());
        for program in &programs {
            let train = Client::new(program.address("train"));
            train.get("/bookings").header("authorization", &token).send().await.has_status(200);
        }
    });
}

testkit::on_both_engines! {
    async fn unreadable_table_makes_a_service_unready(workspace: Workspace) {
        let program = workspace.serve();
        for (service, away, back) in [
            ("petstore", ["ALTER TABLE store_order RENAME TO away", "ALTER TABLE petstore.store_order RENAME TO away"],
             ["ALTER TABLE away RENAME TO store_order", "ALTER TABLE petstore.away RENAME TO store_order"]),
            ("train", ["ALTER TABLE idempotency RENAME TO away", "ALTER TABLE train.idempotency RENAME TO away"],
             ["ALTER TABLE away RENAME TO idempotency", "ALTER TABLE train.away RENAME TO idempotency"]),
            ("museum", ["ALTER TABLE ticket RENAME TO away", "ALTER TABLE museum.ticket RENAME TO away"],
             ["ALTER TABLE away RENAME TO ticket", "ALTER TABLE museum.away RENAME TO ticket"]),
        ] {
            let client = Client::new(program.address(service));
            let own = usize::from(workspace.store.engine() == Engine::Postgres);
            let change = async |statement: &'static str| {
                let migrations = match service {
                    "petstore" => petstore::MIGRATIONS,
                    "train" => train::MIGRATIONS,
                    _ => museum::MIGRATIONS,
                };
                let db = Db::open(workspace.store.location(), service, migrations, Limits::default()).unwrap();
                db.write(move |tx| tx.execute(statement, &[])).await.unwrap();
            };
            client.get("/readyz").send().await.has_status(200);
            change(away[own]).await;
            client.get("/readyz").send().await.is_problem(503, "unavailable");
            client.get("/healthz").send().await.has_status(200);
            change(back[own]).await;
            client.get("/readyz").send().await.has_status(200);
        }
        program.kill();
    }
}
