//! Accounts that change in one transaction with the service's own rows.

use std::sync::Arc;

use db::{Error, WriteTx};
use futures_util::future::join_all;
use identity::{
    AccountError, ChangeError, PasswordHash,
    account::{self, Name},
};
use jiff::Timestamp;
use testkit::{Engine, Fixture};
use uuid::Uuid;
use web::Random;

use crate::support::{HERE, Outcome, PASSWORD, World, sign_in};

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

async fn write<R: Send + 'static>(
    world: &World,
    work: impl Fn(&mut WriteTx<'_>) -> Result<R, Error> + Send + 'static,
) -> Result<R, Error> {
    world.db.write(work).await
}

/// Adds an account together with a row of the test, as a service does with a profile.
fn add(
    tx: &mut WriteTx<'_>,
    id: Uuid,
    name: &Name,
    hash: Option<&PasswordHash>,
    now: Timestamp,
) -> Result<bool, Error> {
    if !account::insert(tx, id, name, hash, now)? {
        return Ok(false);
    }
    let profile = "INSERT INTO sign_in_throttle (subject, full_at) VALUES ($1, $2)";
    tx.execute(profile, &[id.as_bytes().as_slice().into(), 7_i64.into()])?;
    Ok(true)
}

testkit::on_both_engines! {
    async fn account_and_profile_are_added_in_one_transaction(world: World) {
        let hash = world.accounts.hash(&PASSWORD.into()).await.unwrap();
        let now = world.clock.now();
        let (first, second) = (Random::system().uuid(now), Random::system().uuid(now));
        let one = hash.clone();
        assert!(write(&world, move |tx| add(tx, first, &name("zoe\u{308}"), Some(&one), now)).await.unwrap());
        assert_eq!(sign_in(&world.accounts, "zoë", PASSWORD, HERE).await, Outcome::In(first));
        // The name is taken in each Unicode form; nothing is written.
        assert!(!write(&world, move |tx| add(tx, second, &name("zoë"), None, now)).await.unwrap());
        // The profile cannot be written, so there is no account.
        let failed = write(&world, move |tx| {
            let added = add(tx, second, &name("bob"), Some(&hash), now)?;
            tx.execute("INSERT INTO account (id) VALUES ($1)", &[first.into()])?;
            Ok(added)
        });
        assert!(failed.await.is_err());
        assert_eq!(sign_in(&world.accounts, "bob", PASSWORD, HERE).await, Outcome::Wrong);
        let found = world.db.snapshot(|tx| Ok::<_, Error>([
            account::id_of(tx, &name("zoë"))?,
            account::id_of(tx, &name("bob"))?,
            account::id_of(tx, &name("Zoë"))?,
        ]));
        assert_eq!(found.await.unwrap(), [Some(first), None, None]);
    }

    async fn account_without_a_password_cannot_sign_in_until_one_is_set(world: World) {
        let now = world.clock.now();
        let id = Random::system().uuid(now);
        assert!(write(&world, move |tx| account::insert(tx, id, &name("ada"), None, now)).await.unwrap());
        for password in ["", PASSWORD] {
            assert_eq!(sign_in(&world.accounts, "ada", password, HERE).await, Outcome::Wrong);
        }
        // Short, as some services allow.
        let hash = world.accounts.hash_demo("12345").await.unwrap();
        assert!(write(&world, move |tx| account::set_password(tx, id, &hash, now)).await.unwrap());
        assert_eq!(sign_in(&world.accounts, "ada", "12345", HERE).await, Outcome::In(id));
        let hash = world.accounts.hash(&PASSWORD.into()).await.unwrap();
        assert!(write(&world, move |tx| account::set_password(tx, id, &hash, now)).await.unwrap());
        assert_eq!(sign_in(&world.accounts, "ada", "12345", HERE).await, Outcome::Wrong);
        let stranger = Random::system().uuid(now);
        let hash = world.accounts.hash_demo("1").await.unwrap();
        assert!(!write(&world, move |tx| account::set_password(tx, stranger, &hash, now)).await.unwrap());
        assert!(write(&world, move |tx| account::remove(tx, id)).await.unwrap());
        assert!(!write(&world, move |tx| account::remove(tx, id)).await.unwrap());
        assert_eq!(sign_in(&world.accounts, "ada", PASSWORD, HERE).await, Outcome::Wrong);
    }

    async fn demo_account_works_only_in_the_demo(world: World) {
        let now = world.clock.now();
        let id = Random::system().uuid(now);
        let hash = world.accounts.hash_demo("demo").await.unwrap();
        assert!(write(&world, move |tx| account::insert_demo(tx, id, &name("demo"), Some(&hash), now)).await.unwrap());
        assert_eq!(sign_in(&world.accounts, "demo", "demo", HERE).await, Outcome::In(id));
        assert_eq!(sign_in(&world.without_demo(), "demo", "demo", HERE).await, Outcome::Wrong);
    }

    async fn passwords_are_checked_before_they_are_hashed(world: World) {
        for (password, strict, any) in [
            ("", Some(AccountError::PasswordLength), Some(AccountError::PasswordEmpty)),
            ("12345", Some(AccountError::PasswordLength), None),
            ("tab\tin it", Some(AccountError::PasswordCharacters), None),
            (&"p".repeat(1024), None, None),
            (&"p".repeat(1025), Some(AccountError::PasswordLength), Some(AccountError::PasswordEmpty)),
            // Longer in the form that is compared than as it was typed.
            (&"\u{958}".repeat(341), Some(AccountError::PasswordLength), Some(AccountError::PasswordEmpty)),
        ] {
            let unfit = |outcome: Result<_, ChangeError>| match outcome {
                Ok(_) => None,
                Err(ChangeError::Invalid(why)) => Some(why),
                Err(other) => panic!("{other}"),
            };
            assert_eq!(unfit(world.accounts.hash(&password.into()).await), strict, "{password}");
            assert_eq!(unfit(world.accounts.hash_demo(password).await), any, "{password}");
        }
        assert_eq!(Name::new("a:b"), Err(AccountError::NameCharacters));
        assert_eq!(format!("{:?}", world.accounts.hash_demo("1").await.unwrap()), "PasswordHash(…)");
    }

    async fn account_can_be_renamed(world: World) {
        let ada = world.add("ada", PASSWORD).await;
        let bob = world.add("bob", PASSWORD).await;
        let now = world.clock.now();
        let rename = async |id: Uuid, to: &str| {
            let to = name(to);
            write(&world, move |tx| account::rename(tx, id, &to, now)).await.unwrap()
        };
        assert!(!rename(ada, "bob").await);
        assert!(rename(ada, "ada").await);
        assert!(rename(ada, "grace").await);
        assert!(!rename(Random::system().uuid(now), "unknown").await);
        assert_eq!(sign_in(&world.accounts, "grace", PASSWORD, HERE).await, Outcome::In(ada));
        assert_eq!(sign_in(&world.accounts, "ada", PASSWORD, HERE).await, Outcome::Wrong);
        // The old name is free again.
        assert!(rename(bob, "ada").await);
        assert_eq!(sign_in(&world.accounts, "ada", PASSWORD, HERE).await, Outcome::In(bob));
        let accounts = world.db.read(|tx| tx.rows("SELECT id FROM account", &[], |row| row.get::<Uuid>(0)));
        let mut accounts = accounts.await.unwrap_or_else(|error: Error| panic!("{error}"));
        accounts.sort();
        assert_eq!(accounts, [ada.min(bob), ada.max(bob)]);
    }

    async fn one_of_many_concurrent_requests_gets_a_name(world: World) {
        let now = world.clock.now();
        let world = Arc::new(world);
        let mut ids = Vec::new();
        for number in 0..8 {
            let id = Random::system().uuid(now);
            ids.push(id);
            let text = format!("name {number}");
            assert!(write(&world, move |tx| account::insert(tx, id, &name(&text), None, now)).await.unwrap());
        }
        // Half of the requests rename an account, half add one.
        let tries = ids.into_iter().enumerate().map(|(number, id)| {
            let world = world.clone();
            tokio::spawn(async move {
                write(&world, move |tx| match number % 2 {
                    0 => account::rename(tx, id, &name("ada"), now),
                    _ => account::insert(tx, Random::system().uuid(now), &name("ada"), None, now),
                })
                .await
                .unwrap()
            })
        });
        let outcomes: Vec<_> = join_all(tries).await.into_iter().map(Result::unwrap).collect();
        assert_eq!(outcomes.iter().filter(|&&got| got).count(), 1, "{outcomes:?}");
    }
}

/// The interleaving in which a removal that locks the account last would miss a row: a transaction of the service holds the account,
/// the removal waits for it, and the transaction adds its row. SQLite has one writer at a time.
#[tokio::test]
async fn removal_finds_the_row_of_a_transaction_that_holds_the_account() {
    let world = World::start(Engine::Postgres).await;
    let id = world.add("ada", PASSWORD).await;
    let subject = "of the service".as_bytes();
    let (locked, mut is_locked) = tokio::sync::mpsc::unbounded_channel();
    let add_row = write(&world, move |tx| {
        assert!(account::lock(tx, id)?);
        locked.send(()).unwrap();
        let waiting =
            "SELECT 1 FROM pg_locks WHERE NOT granted AND transactionid = pg_current_xact_id()::xid";
        while tx.row(waiting, &[], |_| Ok(()))?.is_none() {}
        let row = "INSERT INTO sign_in_throttle (subject, full_at) VALUES ($1, $2)";
        tx.execute(row, &[subject.into(), 7_i64.into()])
    });
    let remove = async {
        is_locked.recv().await.unwrap();
        let delete_row = move |tx: &mut WriteTx<'_>, _| {
            tx.execute("DELETE FROM sign_in_throttle WHERE subject = $1", &[subject.into()]).map(drop)
        };
        world.accounts.remove_with("ada", delete_row).await
    };
    let (added, removed) = tokio::join!(add_row, remove);
    assert_eq!(added.unwrap(), 1);
    removed.unwrap();
    let left = "SELECT 1 FROM sign_in_throttle WHERE subject = $1";
    let left = world.db.read(move |tx| tx.rows(left, &[subject.into()], |_| Ok(())));
    assert!(left.await.unwrap_or_else(|error: Error| panic!("{error}")).is_empty());
}
