//! Accounts: adding, changing and removing them, and what the database holds of them.

use identity::{AccountError, ChangeError, Hashing};

use crate::support::{HERE, Outcome, PASSWORD, World, sign_in};

#[track_caller]
fn unfit<T: std::fmt::Debug>(result: Result<T, ChangeError>) -> AccountError {
    match result {
        Err(ChangeError::Invalid(unfit)) => unfit,
        other => panic!("{other:?}"),
    }
}

testkit::on_both_engines! {
    async fn invalid_names_and_passwords_are_rejected_with_the_reason(world: World) {
        let add = async |name: &str, password: &str| unfit(world.accounts.add(name, password.into()).await);
        assert_eq!(add("", PASSWORD).await, AccountError::NameLength);
        assert_eq!(add(&"é".repeat(101), PASSWORD).await, AccountError::NameLength);
        assert_eq!(add("a:b", PASSWORD).await, AccountError::NameCharacters);
        assert_eq!(add("a\nb", PASSWORD).await, AccountError::NameCharacters);
        assert_eq!(add("a\u{7f}", PASSWORD).await, AccountError::NameCharacters);
        for invisible in ["\u{202a}", "\u{202e}", "\u{2066}", "\u{2069}", "\u{200b}", "\u{200f}", "\u{feff}", "\u{ad}", "\u{e0041}"] {
            assert_eq!(add(&format!("ad{invisible}a"), PASSWORD).await, AccountError::NameInvisible, "{invisible:?}");
        }
        assert_eq!(add("ada", "seven77").await, AccountError::PasswordLength);
        assert_eq!(add("ada", "ééééééé").await, AccountError::PasswordLength);
        assert_eq!(add("ada", "").await, AccountError::PasswordLength);
        assert_eq!(add("ada", &"p".repeat(1025)).await, AccountError::PasswordLength);
        assert_eq!(add("ada", &"é".repeat(513)).await, AccountError::PasswordLength);
        assert_eq!(add("ada", "tab\tin it").await, AccountError::PasswordCharacters);
        assert_eq!(add("ada", "null\0 in it").await, AccountError::PasswordCharacters);
        assert_eq!(sign_in(&world.accounts, "ada", PASSWORD, HERE).await, Outcome::Wrong);

        world.add(&"é".repeat(100), "eight888").await;
        world.add("longest", &"é".repeat(512)).await;
        assert_eq!(unfit(world.accounts.set_password("longest", "short".into()).await), AccountError::PasswordLength);
        let text = "a password must have at least 8 characters and at most 1024 bytes";
        assert_eq!(AccountError::PasswordLength.to_string(), text);
        assert_eq!(AccountError::NameLength.to_string(), "a name must have 1 to 100 characters");
    }

    async fn taken_name_is_rejected(world: World) {
        let id = world.add("ada", PASSWORD).await;
        let again = world.accounts.add("ada", "other password".into()).await;
        assert!(matches!(again, Err(ChangeError::Taken)), "{again:?}");
        assert_eq!(sign_in(&world.accounts, "ada", PASSWORD, HERE).await, Outcome::In(id));
        assert_eq!(sign_in(&world.accounts, "ada", "other password", HERE).await, Outcome::Wrong);
        // Names that differ in case are different names.
        assert_ne!(world.add("Ada", PASSWORD).await, id);
    }

    async fn one_of_many_concurrent_requests_gets_a_name(world: World) {
        let tries = (0..8).map(|_| world.accounts.add("ada", PASSWORD.into()));
        let mut added = 0;
        for outcome in futures_util::future::join_all(tries).await {
            match outcome {
                Ok(_) => added += 1,
                Err(ChangeError::Taken) => {}
                Err(other) => panic!("{other}"),
            }
        }
        assert_eq!(added, 1);
    }

    async fn unknown_account_cannot_be_changed(world: World) {
        let changed = world.accounts.set_password("ada", PASSWORD.into()).await;
        assert!(matches!(changed, Err(ChangeError::Unknown)), "{changed:?}");
        let removed = world.accounts.remove("ada").await;
        assert!(matches!(removed, Err(ChangeError::Unknown)), "{removed:?}");
        world.add("ada", PASSWORD).await;
        world.accounts.remove("ada").await.unwrap();
        let removed = world.accounts.remove("ada").await;
        assert!(matches!(removed, Err(ChangeError::Unknown)), "{removed:?}");
    }

    async fn only_salted_argon2id_hashes_are_stored(world: World) {
        let (accounts, ..) = world.with_hashing(Hashing::default()).await;
        accounts.add("ada", PASSWORD.into()).await.unwrap();
        accounts.add("bob", PASSWORD.into()).await.unwrap();
        accounts.add_demo("demo", PASSWORD).await.unwrap();
        let mut hashes = Vec::new();
        for name in ["ada", "bob", "demo"] {
            let hash = world.stored_hash(name).await;
            let rest = hash.strip_prefix("$argon2id$v=19$m=19456,t=2,p=1$").unwrap_or_else(|| panic!("{hash}"));
            let (salt, output) = rest.split_once('$').unwrap();
            // 16 and 32 bytes in Base64 without padding.
            assert_eq!((salt.len(), output.len()), (22, 43), "{hash}");
            hashes.push((salt.to_owned(), output.to_owned()));
        }
        accounts.set_password("ada", PASSWORD.into()).await.unwrap();
        let again = world.stored_hash("ada").await;
        assert!(hashes.iter().all(|(salt, output)| !again.contains(salt) && !again.contains(output)), "{again}");
        for (place, (salt, output)) in hashes.iter().enumerate() {
            let others = hashes.iter().enumerate().filter(|(other, _)| *other != place);
            assert!(others.into_iter().all(|(_, other)| other.0 != *salt && other.1 != *output));
        }
    }

    async fn passwords_are_not_in_the_database(world: World) {
        let secret = "plain-password-of-ada";
        world.add("ada", secret).await;
        assert_eq!(world.call("ada", secret).await, 200);
        assert_eq!(world.call("ada", "another-secret-guess").await, 401);
        // People type their password where their name belongs.
        assert_eq!(world.call(secret, "ada-as-a-password").await, 401);
        let accounts = world.db.read(|tx| {
            tx.rows("SELECT name, password_hash FROM account", &[], |row| {
                Ok((row.get::<String>(0)?, row.get::<String>(1)?))
            })
        });
        let accounts: Vec<_> = accounts.await.unwrap_or_else(|error: db::Error| panic!("{error}"));
        assert_eq!(accounts.len(), 1);
        let mut everything = format!("{accounts:?}").into_bytes();
        for (subject, _) in world.meters().await {
            everything.extend(subject);
        }
        if let Some(folder) = world.store.folder() {
            for file in std::fs::read_dir(folder).unwrap() {
                everything.extend(std::fs::read(file.unwrap().path()).unwrap());
            }
        }
        for found in [secret, "another-secret-guess", "ada-as-a-password"] {
            assert!(!everything.windows(found.len()).any(|window| window == found.as_bytes()), "{found}");
        }
    }

    async fn demo_accounts_work_only_in_the_demo(world: World) {
        world.accounts.add_demo("demo", "demo").await.unwrap();
        let strict = world.without_demo();
        let Outcome::In(id) = sign_in(&world.accounts, "demo", "demo", HERE).await else { panic!("not in") };
        assert_eq!(sign_in(&strict, "demo", "demo", HERE).await, Outcome::Wrong);

        // Adding it again changes nothing, also after its password was changed.
        world.accounts.add_demo("demo", "another").await.unwrap();
        assert_eq!(sign_in(&world.accounts, "demo", "demo", HERE).await, Outcome::In(id));
        world.accounts.set_password("demo", PASSWORD.into()).await.unwrap();
        world.accounts.add_demo("demo", "demo").await.unwrap();
        for accounts in [&world.accounts, &strict] {
            assert_eq!(sign_in(accounts, "demo", PASSWORD, HERE).await, Outcome::In(id));
            assert_eq!(sign_in(accounts, "demo", "demo", HERE).await, Outcome::Wrong);
        }
    }

    async fn ordinary_account_does_not_become_a_demo_account(world: World) {
        let id = world.add("demo", PASSWORD).await;
        world.accounts.add_demo("demo", "demo").await.unwrap();
        assert_eq!(sign_in(&world.accounts, "demo", "demo", HERE).await, Outcome::Wrong);
        assert_eq!(sign_in(&world.without_demo(), "demo", PASSWORD, HERE).await, Outcome::In(id));
    }
}
