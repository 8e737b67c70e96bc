//! Upgrades: this program on the databases of an earlier one, and a process of that one beside this program.

mod identity;
mod museum;
mod petstore;
mod train;

use db::{Db, Error, Migrations, Value, WriteTx};
use jiff::{SignedDuration, Timestamp, Unit};
use serde_json::{Value as Json, json};
use testkit::{Client, Program, Store, receiver::Receiver};
use uuid::Uuid;

use crate::common::{FREE_PORTS, Workspace, output_of, printed, refused};

/// The version of the schema that the release before this program had, by component. There is no release yet: the first version of each
/// component stands for it, as it is now. In `webhooks` it is the second, which dropped a column of the first and renamed the states of
/// deliveries: the rule in CONTRIBUTING.md does not allow this after a release. When a version is released, set these to its numbers.
const RELEASED: &[(&str, usize)] = &[
    ("identity", 1),
    ("oauth", 1),
    ("quota", 1),
    ("petstore", 1),
    ("webhooks", 2),
    ("train", 1),
    ("museum", 1),
];

/// A user of the earlier program. The number is a part of all ids and names.
#[derive(Clone, Copy)]
struct User {
    number: u32,
    now: Timestamp,
}

impl User {
    fn name(self) -> String {
        format!("ada{}", self.number)
    }

    /// An id of a row of this user.
    fn id(self, row: u32) -> Uuid {
        Uuid::from_u128((u128::from(self.number) << 64) | u128::from(row))
    }

    /// The same for rows that are identified by a number.
    fn row(self) -> i64 {
        900 + i64::from(self.number)
    }

    fn account(self) -> Uuid {
        self.id(1)
    }

    fn hash(self, row: u8) -> Vec<u8> {
        let mut hash = vec![row; 31];
        hash.push(self.number as u8);
        hash
    }

    /// When what is valid now expires.
    fn until(self) -> Timestamp {
        self.now + SignedDuration::from_hours(2)
    }

    fn later(self) -> Value<'static> {
        self.until().into()
    }
}

/// The databases of an earlier program, which stay open while the new one runs.
struct Earlier {
    petstore: Db,
    train: Db,
    museum: Db,
    receiver: Receiver,
}

impl Earlier {
    async fn open(store: &Store, version: impl Fn(&str) -> usize) -> Self {
        let open = |service: &'static str, migrations: &[Migrations]| {
            let earlier: Vec<_> =
                migrations.iter().map(|part| part.up_to(version(part.component()))).collect();
            store.open(service, &earlier)
        };
        Earlier {
            petstore: open("petstore", ::petstore::MIGRATIONS),
            train: open("train", ::train::MIGRATIONS),
            museum: open("museum", ::museum::MIGRATIONS),
            receiver: Receiver::start().await,
        }
    }

    /// Does for a user what the earlier program does, with its statements.
    async fn serve(&self, user: User) {
        write(&self.petstore, move |tx| petstore::serve(tx, user)).await;
        write(&self.museum, move |tx| museum::serve(tx, user)).await;
        write(&self.train, move |tx| train::serve(tx, user)).await;
        let url = self.receiver.url(&user.name()).to_string();
        write(&self.train, move |tx| train::notify(tx, user, &url)).await;
    }
}

async fn write(db: &Db, work: impl Fn(&mut WriteTx<'_>) -> Result<(), Error> + Send + 'static) {
    db.write(work).await.unwrap();
}

fn released(component: &str) -> usize {
    RELEASED.iter().find(|(name, _)| *name == component).unwrap_or_else(|| panic!("{component} is new")).1
}

/// This program answers with what the earlier one stored, and nothing is inconsistent.
async fn has_all(workspace: &Workspace, program: &Program, user: User) {
    output_of(&mut workspace.command(&["check"]));
    petstore::is_served(&Client::new(program.address("petstore")), user).await;
    museum::is_served(&crate::common::museum(program), user).await;
    let token = printed(workspace, &["token", "train", "--user", &user.name()]);
    train::is_served(&Client::new(program.address("train")), &token, user).await;
    let export = |service: &str| -> Json {
        serde_json::from_str(&printed(workspace, &["user", "export", service, &user.name()])).unwrap()
    };
    petstore::is_exported(&export("petstore"), user);
    museum::is_exported(&export("museum"), user);
    train::is_exported(&export("train"), user);
}

fn user(number: u32) -> User {
    // In the precision of the databases.
    let now = web::Clock::system().now().round(Unit::Second).unwrap();
    User { number, now }
}

testkit::on_both_engines! {
    async fn data_of_the_first_schema_is_there_after_the_upgrade(workspace: Workspace) {
        let earlier = Earlier::open(&workspace.store, |_| 1).await;
        let ada = user(1);
        write(&earlier.petstore, move |tx| petstore::serve(tx, ada)).await;
        write(&earlier.museum, move |tx| museum::serve(tx, ada)).await;
        write(&earlier.train, move |tx| train::serve(tx, ada)).await;
        let url = earlier.receiver.url(&ada.name()).to_string();
        write(&earlier.train, move |tx| train::notify_at_version_1(tx, ada, &url)).await;
        let program = workspace.serve();
        earlier.receiver.wait_for(&ada.name(), 1).await;
        has_all(&workspace, &program, ada).await;
    }

    async fn process_of_the_released_schema_works_beside_this_program(workspace: Workspace) {
        let earlier = Earlier::open(&workspace.store, released).await;
        let (before, meanwhile) = (user(1), user(2));
        earlier.serve(before).await;
        let program = workspace.serve();
        has_all(&workspace, &program, before).await;
        // The earlier process still runs, and this program has migrated its databases.
        earlier.serve(meanwhile).await;
        for user in [before, meanwhile] {
            earlier.receiver.wait_for(&user.name(), 1).await;
            has_all(&workspace, &program, user).await;
        }
    }

    async fn newer_schema_is_reported(workspace: Workspace) {
        assert!(workspace.serve().terminate().success());
        let db = workspace.store.open("museum", ::museum::MIGRATIONS);
        write(&db, |tx| {
            tx.execute("INSERT INTO triptych_migration (component, version) VALUES ('museum', 99)", &[]).map(drop)
        })
        .await;
        drop(db);
        let newest = ::museum::MIGRATIONS.iter().find(|part| part.component() == "museum").unwrap().len();
        let why = format!(
            "its schema is newer than this program (museum is at version 99, this program knows up to {newest}): use the newer \
             triptych that wrote it"
        );
        for arguments in [&["serve"][..], &["check"], &["user", "remove", "museum", "demo"]] {
            let mut command = workspace.command(arguments);
            // Without the log of the services that start before it.
            let said = refused(&command.args(FREE_PORTS).env("TRIPTYCH_LOG", "error").output().unwrap());
            assert!(said.starts_with("triptych: cannot ") && said.ends_with(&why), "{said}");
        }
    }
}

#[test]
fn released_schema_names_every_component() {
    let all = [::petstore::MIGRATIONS, ::train::MIGRATIONS, ::museum::MIGRATIONS].concat();
    for part in all {
        assert!(released(part.component()) <= part.len(), "{}", part.component());
    }
}
