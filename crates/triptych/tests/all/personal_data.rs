//! `triptych user export` and `triptych user remove --erase`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::fs::PermissionsExt as _,
    process::Stdio,
    time::{Duration, Instant},
};

use db::transfer::{Cell, Part};
use serde_json::{Value, json};
use testkit::{Client, Engine, Program, receiver::Receiver, sign_in};

use crate::common::{Workspace, output_of, printed, refused, with_input};

/// The day of the tests. The museum is open on it, and on the days before and after it.
const TODAY: &str = "2026-01-15";
const PASSWORD: &str = "correct-horse";
const SERVICES: [&str; 3] = ["petstore", "train", "museum"];

/// How long a test waits for deliveries.
const SOON: Duration = Duration::from_secs(60);

/// The tables without personal data. Every other table of a service must have some in these tests.
const WITHOUT: &[&str] = &[
    // Identity: of the installation, of clients, and of the operator. The hashes of sign-ins have no name.
    "signing_key",
    "oauth_client",
    "oauth_revoked_token",
    "oauth_address",
    "api_key",
    "sign_in_throttle",
    // The pet store.
    "pet",
    "pet_tag",
    "pet_count",
    "pet_image",
    "pet_image_part",
    "store_order",
    "next_id",
    "demo_brought",
    // Train travel: counts and amounts.
    "trip_seats",
    "sandbox_charge",
    // The museum.
    "special_event",
    "special_event_date",
    "demo_event",
    "pass_certificate",
];

/// The tables in which rows of an erased user stay: paid bookings, and marks that the account was removed.
const STAY: &[&str] = &["booking", "payment", "traveller", "webhook_owner"];

/// The marks have only the id of the account.
const MARKS: &[&str] = &["traveller", "webhook_owner"];

type Rows = BTreeMap<String, BTreeSet<String>>;

/// All rows of the database of a service as text, also those of its snapshots.
fn rows(workspace: &Workspace, service: &str) -> Rows {
    let mut all = Rows::new();
    let mut table = String::new();
    let databases = workspace.store.connect();
    let read = databases.export(service, &mut |part| {
        match part {
            Part::Versions(_) => {}
            Part::Table(columns) => {
                table = columns.name;
                all.entry(table.clone()).or_default();
            }
            Part::Row(cells) => {
                let cells: Vec<_> = cells.iter().map(text).collect();
                all.entry(table.clone()).or_default().insert(cells.join(" | "));
            }
        }
        Ok(())
    });
    read.unwrap();
    all
}

fn text(cell: &Cell) -> String {
    match cell {
        Cell::Null => "-".into(),
        Cell::Int(number) => number.to_string(),
        Cell::Text(text) => text.clone(),
        // As text columns have the id of an account.
        Cell::Bytes(bytes) => match uuid::Uuid::from_slice(bytes) {
            Ok(id) => id.to_string(),
            Err(_) => format!("{bytes:02x?}"),
        },
    }
}

/// The rows of each table that the second state has and the first has not.
fn added<'r>(from: &Rows, to: &'r Rows) -> BTreeMap<&'r str, Vec<&'r String>> {
    let mut all = BTreeMap::new();
    for (table, rows) in to {
        let is_new = |row: &&String| from.get(table).is_none_or(|old| !old.contains(*row));
        let new: Vec<_> = rows.iter().filter(is_new).collect();
        if !new.is_empty() {
            all.insert(table.as_str(), new);
        }
    }
    all
}

fn serve(workspace: &Workspace) -> Program {
    Program::start(workspace.serving().args(["--today", TODAY]))
}

/// A user of all services, whose name is in every text that the user sends.
struct Person<'w> {
    workspace: &'w Workspace,
    program: &'w Program,
    receiver: &'w Receiver,
    name: &'static str,
}

impl Person<'_> {
    fn client(&self, service: &str) -> Client {
        Client::new(self.program.address(service))
    }

    /// Makes the accounts, and stores something in every table that can have data of a user.
    async fn use_all(&self) {
        for service in SERVICES {
            let mut command = self.workspace.command(&["user", "add", service, self.name]);
            assert!(with_input(&mut command, PASSWORD).status.success());
        }
        self.use_the_pet_store().await;
        self.use_the_train().await;
        self.use_the_museum().await;
    }

    async fn use_the_pet_store(&self) {
        let (store, name) = (self.client("petstore"), self.name);
        sign_in::tokens(&store, "", "read:pets+write:pets", name, PASSWORD).await;
        let session = store.get(&format!("/v3/user/login?username={name}&password={PASSWORD}")).send().await;
        let session = session.has_status(200).json();
        let call = store.put(&format!("/v3/user/{name}"));
        let call = call.header("authorization", &format!("Bearer {}", session.as_str().unwrap()));
        let profile = json!({
            "firstName": format!("{name} first"), "lastName": format!("{name} last"), "email": format!("{name}@example.com"),
            "phone": format!("{name} 123"), "userStatus": 7
        });
        call.json(&profile).send().await.has_status(200);
    }

    async fn use_the_museum(&self) {
        let museum = self.client("museum").signed_in(self.name, PASSWORD);
        // In its zone it may be another day.
        let now = museum.get("/v1.1/museum-hours/now").send().await.has_status(200).json();
        let ticket = json!({
            "ticketType": "general", "ticketDate": now["date"], "email": format!("{}@example.com", self.name)
        });
        let sold = museum.post("/v1.1/tickets").json(&ticket).send().await.has_status(201).json();
        let admissions = format!("/v1.1/tickets/{}/admissions", sold["ticketId"].as_str().unwrap());
        museum.post(&admissions).send().await.has_status(201);
    }

    async fn use_the_train(&self) {
        let train = self.client("train");
        let tokens = sign_in::tokens(&train, "", "read+write", self.name, PASSWORD).await;
        let token = format!("Bearer {}", tokens["access_token"].as_str().unwrap());
        let post = async |path: &str, body: &Value, status: u16| {
            let call = train.post(path).header("authorization", &token);
            let call = call.header("idempotency-key", &format!("{path}{body}"));
            let call = if body.is_null() { call } else { call.json(body) };
            call.send().await.has_status(status).json()
        };
        let inbox = post("/inboxes", &Value::Null, 201).await;
        for url in [&inbox["url"], &json!(self.receiver.url(self.name).as_str())] {
            let subscription = post("/webhooks", &json!({"url": url}), 201).await;
            post(&format!("/webhooks/{}/secret", subscription["id"].as_str().unwrap()), &Value::Null, 200)
                .await;
        }
        let document = train.get("/openapi.json").send().await.json();
        let content = &document["paths"]["/bookings"]["post"]["requestBody"]["content"];
        let mut booking = content["application/json"]["example"].clone();
        let mut paths = Vec::new();
        for kind in ["held", "cancelled", "paid", "declined"] {
            booking["passenger_name"] = json!(format!("{} {kind}", self.name));
            let made = post("/bookings", &booking, 201).await;
            paths.push(format!("/bookings/{}", made["id"].as_str().unwrap()));
        }
        train.delete(&paths[1]).header("authorization", &token).send().await.has_status(204);
        for (path, number) in [(&paths[2], "4242424242424242"), (&paths[3], "4000000000000002")] {
            let source = json!({
                "object": "card", "name": format!("{} holder", self.name), "number": number, "cvc": "123", "exp_month": 12,
                "exp_year": 2030, "address_country": "gb", "address_city": format!("{} City", self.name)
            });
            post(&format!("{path}/payment"), &json!({"source": source}), 200).await;
        }
        self.receiver.wait_for(self.name, 4).await;
        self.wait_for_deliveries();
    }

    /// Waits until each event is delivered and its attempt is recorded.
    fn wait_for_deliveries(&self) {
        let deadline = Instant::now() + SOON;
        loop {
            let rows = rows(self.workspace, "train");
            if rows["webhook_delivery"].iter().all(|row| row.contains("delivered")) {
                return;
            }
            assert!(Instant::now() < deadline, "{:?}", rows["webhook_delivery"]);
        }
    }

    /// The export of a service, without its time.
    fn export(&self, service: &str) -> Value {
        let printed = printed(self.workspace, &["user", "export", service, self.name]);
        let mut export: Value = serde_json::from_str(&printed).unwrap();
        assert!(export.as_object_mut().unwrap().remove("exported_at").is_some_and(|time| time.is_string()));
        export
    }

    /// Saves or restores a snapshot of the demo.
    async fn snapshot(&self, path: &str, body: &Value, status: u16) {
        let operator = format!("Bearer {}", printed(self.workspace, &["sandbox", "token"]));
        let call = self.client("petstore").post(path).header("authorization", &operator);
        let call = if body.is_null() { call } else { call.json(body) };
        call.send().await.has_status(status);
    }
}

/// Asserts that the export of a service has all kinds of data with the user's texts, and no secret.
#[track_caller]
fn is_complete(export: &Value, name: &str, kinds: &[(&str, &[&str])]) {
    let members: BTreeSet<_> = export.as_object().unwrap().keys().map(String::as_str).collect();
    let known = kinds.iter().map(|(kind, _)| *kind);
    let expected: BTreeSet<_> = known.chain(["service", "account", "calls"]).collect();
    assert_eq!(members, expected);
    assert_eq!(export["account"]["name"], name);
    assert_eq!(export["account"]["has_password"], true);
    for (kind, texts) in kinds {
        assert!(!export[kind].as_array().unwrap().is_empty(), "{kind}");
        let all = export[kind].to_string();
        for text in *texts {
            assert!(all.contains(&format!("{name}{text}")), "{kind} {text}: {all}");
        }
    }
    let all = export.to_string();
    for secret in ["$argon2", "hash", "whsec_", "secret", "4242424242424242", "private"] {
        assert!(!all.contains(secret), "{secret}: {all}");
    }
}

const OF_OAUTH: [(&str, &[&str]); 4] =
    [("sessions", &[]), ("grants", &[]), ("codes", &[]), ("refresh_tokens", &[])];

testkit::on_both_engines! {
    async fn erased_user_leaves_no_row_and_others_keep_theirs(workspace: Workspace) {
        let program = serve(&workspace);
        let receiver = Receiver::start().await;
        let person = |name| Person { workspace: &workspace, program: &program, receiver: &receiver, name };
        let (berta, zelda) = (person("bertamark"), person("zeldamark"));
        berta.use_all().await;
        let before = SERVICES.map(|service| rows(&workspace, service));
        zelda.use_all().await;
        let with_zelda = SERVICES.map(|service| rows(&workspace, service));
        for (before, with) in before.iter().zip(&with_zelda) {
            let new = added(before, with);
            let personal = with.keys().filter(|table| !WITHOUT.contains(&table.as_str()) && !table.starts_with("triptych_"));
            for table in personal {
                assert!(new.contains_key(table.as_str()), "the test stores nothing in {table}: name it in WITHOUT, or store something");
            }
        }

        let of_store = [&OF_OAUTH[..], &[("profile", &[" first", " last", "@example.com", " 123"])]].concat();
        is_complete(&zelda.export("petstore"), "zeldamark", &of_store);
        is_complete(&zelda.export("museum"), "zeldamark", &[("tickets", &["@example.com"])]);
        let of_train: [(&str, &[&str]); 8] = [
            ("bookings", &[" held", " cancelled", " paid", " declined"]),
            ("payments", &[" holder", " City"]),
            ("idempotency_keys", &[" held", " paid", " declined", " holder"]),
            ("inboxes", &[" held", " paid"]),
            ("webhook_events", &[" held", " cancelled", " paid", " declined"]),
            ("webhook_subscriptions", &[""]),
            ("webhook_deliveries", &[]),
            ("webhook_attempts", &[]),
        ];
        is_complete(&zelda.export("train"), "zeldamark", &[&OF_OAUTH[..], &of_train].concat());
        let bertas = SERVICES.map(|service| berta.export(service));

        zelda.snapshot("/_control/snapshots", &json!({"name": "with-zelda"}), 201).await;
        let account = zelda.export("train")["account"]["id"].as_str().unwrap().to_owned();
        for service in SERVICES {
            let erased = printed(&workspace, &["user", "remove", service, "zeldamark", "--erase"]);
            assert_eq!(erased, "zeldamark: removed, personal data erased");
            let again = workspace.command(&["user", "remove", service, "zeldamark", "--erase"]).output().unwrap();
            assert_eq!(refused(&again), "triptych: there is no user \"zeldamark\"");
        }
        output_of(&mut workspace.command(&["check"]));
        let has_none = |rows: &Rows| {
            for (table, rows) in rows {
                let is_mark = MARKS.iter().any(|mark| table.ends_with(mark));
                for row in rows {
                    assert!(!row.contains("zeldamark"), "{table}: {row}");
                    assert!(is_mark || !row.contains(&account), "{table}: {row}");
                }
            }
        };
        for (service, before) in SERVICES.iter().zip(&before) {
            let after = rows(&workspace, service);
            has_none(&after);
            let own = |table: &&str| !WITHOUT.contains(table) && !table.starts_with("triptych_");
            let left: Vec<_> = added(before, &after).into_keys().filter(own).collect();
            let expected: &[&str] = if *service == "train" { STAY } else { &[] };
            assert_eq!(left, expected, "{service}");
            assert_eq!(added(&after, before).into_keys().filter(own).collect::<Vec<_>>(), [""; 0], "{service}");
        }
        // Of four bookings, two have a payment. The seat that is paid for is still taken.
        let train = rows(&workspace, "train");
        assert_eq!(added(&before[1], &train)["booking"].len(), 2);
        for (service, export) in SERVICES.iter().zip(bertas) {
            assert_eq!(berta.export(service), export);
        }

        berta.snapshot("/_control/snapshots/with-zelda/restore", &Value::Null, 204).await;
        output_of(&mut workspace.command(&["check"]));
        for service in SERVICES {
            has_none(&rows(&workspace, service));
        }
    }

    async fn erasure_that_was_killed_is_completed_by_the_next_one(workspace: Workspace) {
        const TICKETS: i64 = 100_000;
        assert!(workspace.serve().terminate().success());
        assert!(with_input(&mut workspace.command(&["user", "add", "museum", "ada"]), PASSWORD).status.success());
        let db = workspace.store.open("museum", museum::MIGRATIONS);
        let sell = match workspace.store.engine() {
            Engine::Sqlite => {
                "WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < $1)
                 INSERT INTO ticket (id, account_id, date, opens_at, email, confirmation_code, bought_at)
                 SELECT CAST(printf('%016d', n) AS BLOB), account.id, '2026-01-14', 0, 'ada@example.com', CAST(n AS TEXT), 0
                 FROM number, account WHERE account.name = 'ada'"
            }
            Engine::Postgres => {
                "INSERT INTO ticket (id, account_id, date, opens_at, email, confirmation_code, bought_at)
                 SELECT CAST(lpad(to_hex(n), 32, '0') AS UUID), account.id, DATE '2026-01-14', now(), 'ada@example.com',
                     CAST(n AS TEXT), now()
                 FROM generate_series(1, $1) AS n, account WHERE account.name = 'ada'"
            }
        };
        let sold: Result<_, db::Error> = db.write(move |tx| tx.execute(sell, &[TICKETS.into()])).await;
        assert_eq!(sold.unwrap(), TICKETS as u64);
        let left = async || {
            let count = db.read(|tx| tx.row("SELECT count(*) FROM ticket", &[], |row| row.get::<i64>(0)));
            count.await.unwrap_or_else(|error: db::Error| panic!("{error}")).unwrap()
        };
        let mut command = workspace.command(&["user", "remove", "museum", "ada", "--erase"]);
        let mut erasing = command.stdout(Stdio::null()).spawn().unwrap();
        while left().await == TICKETS {
            assert_eq!(erasing.try_wait().unwrap(), None);
        }
        erasing.kill().unwrap();
        erasing.wait().unwrap();
        let rest = left().await;
        assert!(0 < rest && rest < TICKETS, "{rest}");
        assert_eq!(output_of(command.stdout(Stdio::piped())), "ada: removed, personal data erased");
        assert_eq!(left().await, 0);
    }

    async fn export_is_written_to_a_new_file_of_its_owner(workspace: Workspace) {
        assert!(workspace.serve().terminate().success());
        let run = |arguments: &[&str]| workspace.command(arguments).output().unwrap();
        assert_eq!(refused(&run(&["user", "export", "train", "zoë"])), "triptych: there is no user \"zoë\"");
        assert_eq!(refused(&run(&["user", "export", "train", "zoë", "--output", "zoë.json"])), "triptych: there is no user \"zoë\"");
        let file = workspace.folder.path().join("zoë.json");
        assert!(!file.exists());
        assert!(with_input(&mut workspace.command(&["user", "add", "train", "zoë"]), PASSWORD).status.success());
        let written = printed(&workspace, &["user", "export", "train", "zoë", "--output", "zoë.json"]);
        assert_eq!(written, "zoë: written to zoë.json");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let export: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        let members = ["id", "created_at"].map(|member| export["account"][member].clone());
        assert_eq!(
            export,
            json!({
                "service": "train",
                "exported_at": export["exported_at"],
                "account": {"id": members[0], "name": "zoë", "demo": false, "has_password": true, "created_at": members[1]},
                "calls": [], "sessions": [], "grants": [], "codes": [], "refresh_tokens": [], "bookings": [], "payments": [],
                "idempotency_keys": [], "inboxes": [], "webhook_events": [], "webhook_subscriptions": [],
                "webhook_deliveries": [], "webhook_attempts": []
            })
        );
        let again = refused(&run(&["user", "export", "train", "zoë", "--output", "zoë.json"]));
        assert_eq!(again, "triptych: cannot write zoë.json: it exists already");
        let nowhere = refused(&run(&["user", "export", "train", "zoë", "--output", "nowhere/zoë.json"]));
        assert_eq!(nowhere, "triptych: cannot write nowhere/zoë.json: its folder does not exist");
    }
}
