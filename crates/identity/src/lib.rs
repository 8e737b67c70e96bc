//! Who is calling: accounts, passwords, HTTP Basic.
//!
//! Each service has accounts of its own, in its own database. [`Accounts`] keeps them and checks passwords;
//! [`Caller`] is the extractor by which an operation requires a caller who has signed in:
//!
//! ```text
//! async fn create(caller: Caller, …) -> Result<Created<SpecialEvent>>
//! ```
//!
//! Checking a password costs argon2 once, not on every request: what was found right is remembered for a few
//! minutes under a keyed hash of name, address, password *and the hash that is stored*. The stored hash is read
//! anew with every request, so a changed password or a removed account holds at once, in every process. Where a
//! try was refused because there were too many, nothing is remembered: else the answer to the next guess would
//! tell whether it was right, at no charge.

pub mod account;
mod api_key;
mod basic;
mod error;
mod hasher;
mod new_password;
pub mod oauth;
mod password;
pub mod quota;
mod secret;
pub mod security;
pub mod session;
mod throttle;

use std::{sync::Arc, time::Duration};

use db::{Db, Migrations, WriteTx};
use hmac::{Hmac, KeyInit, Mac};
use moka::future::Cache;
use secrecy::{ExposeSecret, SecretString};
use sha2::Sha256;
use uuid::Uuid;
use web::{Chance, Clock};

use account::Name;
pub use account::Unfit;
pub use api_key::ApiKeys;
pub use basic::{Caller, unauthorized};
pub use error::{ChangeError, SignInError};
pub use new_password::SignUps;
pub use password::PasswordHash;
use password::{Passwords, Permit};
pub use quota::Quota;
use security::{Event, Origin, Outcome};
pub use session::Sessions;
use throttle::{Refusal, SIGN_UP, Subject, Throttle, Try};

/// The tables of this crate, to be migrated with those of the service.
pub const MIGRATIONS: Migrations = db::migrations!("identity": "0001_accounts");

/// How long a right password is remembered, and how many are.
const REMEMBERED_FOR: Duration = Duration::from_secs(300);
const REMEMBERED: u64 = 10_000;

/// The accounts of a service. Cloning it is cheap.
#[derive(Clone)]
pub struct Accounts(Arc<Inner>);

struct Inner {
    realm: &'static str,
    demo: bool,
    db: Db,
    clock: Clock,
    chance: Chance,
    passwords: Passwords,
    throttle: Throttle,
    verified: Cache<[u8; 32], Uuid>,
    /// The accounts and addresses for which a try was refused since anything in `verified` was found right.
    refused: Cache<Subject, ()>,
    key: [u8; 32],
}

impl Accounts {
    /// The accounts in `db`. Demo accounts can sign in only if `demo` is set.
    pub fn new(
        realm: &'static str,
        demo: bool,
        db: Db,
        clock: Clock,
        chance: Chance,
    ) -> Result<Self, ChangeError> {
        let passwords = Passwords::new(realm, chance.clone())?;
        Ok(Accounts(Arc::new(Inner {
            realm,
            demo,
            throttle: Throttle::new(db.clone(), clock.clone()),
            db,
            clock,
            passwords,
            verified: Cache::builder().max_capacity(REMEMBERED).time_to_live(REMEMBERED_FOR).build(),
            refused: Cache::builder().max_capacity(REMEMBERED).time_to_live(REMEMBERED_FOR).build(),
            key: chance.bytes(),
            chance,
        })))
    }

    pub(crate) fn realm(&self) -> &'static str {
        self.0.realm
    }

    /// How many passwords were hashed here to be compared. Whatever tells a right password from a wrong one or an unknown
    /// name adds one, unless the answer was remembered.
    pub fn password_checks(&self) -> u64 {
        self.0.passwords.checks()
    }

    /// The account of this name and password. Unknown names cost what known ones cost.
    pub async fn sign_in(
        &self,
        name: &str,
        password: SecretString,
        origin: impl Into<Origin>,
    ) -> Result<Uuid, SignInError> {
        let inner = &self.0;
        let origin = origin.into();
        let name = &account::composed(name);
        let password = composed(&password);
        // No account has such a name or password, so an answer at once tells nothing about accounts.
        if account::check_name(name).is_err() || password.expose_secret().len() > account::LONGEST_PASSWORD {
            origin.log(Event::SignIn, Outcome::Wrong, None, None);
            return Err(SignInError::Wrong);
        }
        let account = account::by_name(&inner.db, name).await?.filter(|account| !account.demo || inner.demo);
        let known =
            account.as_ref().and_then(|account| Some((account.id, account.password_hash.as_deref()?)));
        let stored = known.map_or(inner.passwords.decoy(), |(_, hash)| hash);
        let tried = Try::new(name, origin.address());
        let at = *tried.account_and_address();
        let key = inner.remembered_as(&[&at, password.expose_secret().as_bytes(), stored.as_bytes()]);
        let suspect = inner.refused.contains_key(&at);
        if !suspect && let Some(id) = inner.verified.get(&key).await {
            return Ok(id);
        }
        let check = inner.check(tried, password, stored.to_owned(), known.map(|(id, _)| id), &origin);
        if suspect {
            return check.await;
        }
        // Many requests with the same credentials at once cost one check, and count as one try.
        inner.verified.try_get_with(key, check).await.map_err(|error: Arc<SignInError>| error.again())
    }

    /// The account of this name, if it can be used now: a demo account only in a demo.
    pub async fn find(&self, name: &str) -> Result<Option<Uuid>, db::Error> {
        let Ok(name) = Name::new(name) else { return Ok(None) };
        let found = account::by_name(&self.0.db, name.as_str()).await?;
        Ok(found.filter(|account| !account.demo || self.0.demo).map(|account| account.id))
    }

    /// Adds an account.
    pub async fn add(&self, name: &str, password: SecretString) -> Result<Uuid, ChangeError> {
        let name = Name::new(name)?;
        let hash = self.hash(&password).await?;
        self.insert(name, hash, false).await?.ok_or(ChangeError::Taken)
    }

    /// Adds an account for a visitor at this address, unless too many were made from there lately.
    pub async fn sign_up(
        &self,
        name: &str,
        password: SecretString,
        origin: impl Into<Origin>,
    ) -> Result<Uuid, ChangeError> {
        let origin = origin.into();
        let name = Name::new(name)?;
        let password = composed(&password);
        account::check_password(&password)?;
        // A permit first: what is refused for want of one is not charged.
        let permit = self.0.passwords.permit_to_set(1)?;
        self.0.throttle.charge_address(&SIGN_UP, origin.address()).await.inspect_err(|refusal| {
            if let Refusal::Wait(_) = refusal {
                origin.log(Event::AccountCreation, Outcome::Throttled, None, None);
            }
        })?;
        let hash = self.0.hash(&permit, password).await?;
        let account = self.insert(name, hash, false).await?.ok_or(ChangeError::Taken)?;
        origin.log(Event::AccountCreation, Outcome::Ok, Some(account), None);
        Ok(account)
    }

    /// Adds an account with a well-known password, unless the name is taken. It works in demo mode only.
    pub async fn add_demo(&self, name: &str, password: &str) -> Result<(), ChangeError> {
        let name = Name::new(name)?;
        if account::by_name(&self.0.db, name.as_str()).await?.is_none() {
            let hash = self.hash_any(&password.into()).await?;
            self.insert(name, hash, true).await?;
        }
        Ok(())
    }

    async fn insert(&self, name: Name, hash: PasswordHash, demo: bool) -> Result<Option<Uuid>, db::Error> {
        let now = self.0.clock.now();
        let id = self.0.chance.uuid(now);
        let insert = move |tx: &mut WriteTx<'_>| match demo {
            true => account::insert_demo(tx, id, &name, Some(&hash), now),
            false => account::insert(tx, id, &name, Some(&hash), now),
        };
        Ok(self.0.db.write(insert).await?.then_some(id))
    }

    /// Sets an account's password, and ends all that follows from the old one: its sessions, and what it allowed clients.
    pub async fn set_password(&self, name: &str, password: SecretString) -> Result<(), ChangeError> {
        let hash = self.hash(&password).await?;
        let now = self.0.clock.now();
        self.change(name, move |tx, id| account::set_password(tx, id, &hash, now)).await
    }

    /// Removes an account, its sessions, and what it allowed clients.
    pub async fn remove(&self, name: &str) -> Result<(), ChangeError> {
        self.change(name, account::remove).await
    }

    /// The same, with all else that a service keeps about the account: in one transaction, `also` first.
    pub async fn remove_with(
        &self,
        name: &str,
        also: impl Fn(&mut WriteTx<'_>, Uuid) -> Result<(), db::Error> + Send + 'static,
    ) -> Result<(), ChangeError> {
        let remove = move |tx: &mut WriteTx<'_>, id| {
            also(tx, id)?;
            account::remove(tx, id)
        };
        self.change(name, remove).await
    }

    async fn change(
        &self,
        name: &str,
        change: impl Fn(&mut WriteTx<'_>, Uuid) -> Result<bool, db::Error> + Send + 'static,
    ) -> Result<(), ChangeError> {
        // No account has a name that breaks the rules.
        let Ok(name) = Name::new(name) else { return Err(ChangeError::Unknown) };
        let changed = self.0.db.write(move |tx| match account::id_of(tx, &name)? {
            Some(id) => change(tx, id),
            None => Ok::<_, db::Error>(false),
        });
        if changed.await? { Ok(()) } else { Err(ChangeError::Unknown) }
    }
}

impl Inner {
    async fn check(
        &self,
        tried: Try,
        password: SecretString,
        stored: String,
        account: Option<Uuid>,
        origin: &Origin,
    ) -> Result<Uuid, SignInError> {
        let checked = self.check_password(tried, password, stored, account).await;
        let outcome = match &checked {
            Ok(_) => Outcome::Ok,
            Err(SignInError::Wrong) => Outcome::Wrong,
            Err(SignInError::Wait(_)) => Outcome::Throttled,
            // Nothing was decided.
            Err(_) => return checked,
        };
        origin.log(Event::SignIn, outcome, account, None);
        checked
    }

    async fn check_password(
        &self,
        tried: Try,
        password: SecretString,
        stored: String,
        account: Option<Uuid>,
    ) -> Result<Uuid, SignInError> {
        // A permit first: a try that is refused for want of one is not charged.
        let permit = self.passwords.permit_to_check()?;
        let at = *tried.account_and_address();
        let charged = match self.throttle.charge(tried).await {
            Ok(charged) => charged,
            Err(Refusal::Wait(seconds)) => {
                self.refused.insert(at, ()).await;
                return Err(SignInError::Wait(seconds));
            }
            Err(Refusal::Db(error)) => return Err(error.into()),
        };
        let right = self.passwords.verify(&permit, password, stored.clone()).await?;
        match account.filter(|_| right) {
            Some(id) => {
                self.throttle.succeed(charged).await?;
                // It may have waited for its turn. Who set a new password meanwhile has ended what the old one opens.
                if !account::has_password(&self.db, id, stored).await? {
                    return Err(SignInError::Wrong);
                }
                self.refused.invalidate(&at).await;
                Ok(id)
            }
            None => Err(SignInError::Wrong),
        }
    }

    async fn hash(&self, permit: &Permit, password: SecretString) -> Result<PasswordHash, ChangeError> {
        Ok(self.passwords.hash(permit, password).await?)
    }

    fn remembered_as(&self, parts: &[&[u8]]) -> [u8; 32] {
        // Any length of key will do for an HMAC.
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.key).unwrap_or_else(|_| unreachable!());
        for part in parts {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part);
        }
        mac.finalize().into_bytes().into()
    }
}

fn composed(password: &SecretString) -> SecretString {
    account::composed(password.expose_secret()).into()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use testkit::Store;

    use super::*;

    testkit::on_both_engines! {
        async fn a_password_that_is_changed_while_it_is_checked_is_the_old_one(store: Store) {
            let db = store.open("test", &[MIGRATIONS]);
            let clock = Clock::manual("2026-05-13T10:00:00Z".parse().unwrap());
            let accounts = Accounts::new("Test", false, db.clone(), clock.clone(), Chance::system()).unwrap();
            let id = accounts.add("ada", "correct horse".into()).await.unwrap();
            let hash = accounts.hash(&"another horse".into()).await.unwrap();
            let now = clock.now();
            let turns = accounts.0.passwords.all_checks().await;
            let waiting = tokio::spawn({
                let accounts = accounts.clone();
                async move { accounts.sign_in("ada", "correct horse".into(), IpAddr::from(Ipv4Addr::LOCALHOST)).await }
            });
            accounts.0.passwords.a_check_waits().await;
            let changed: Result<_, db::Error> =
                db.write(move |tx| account::set_password(tx, id, &hash, now)).await;
            assert!(changed.unwrap());
            drop(turns);
            let outcome = waiting.await.unwrap();
            assert!(matches!(outcome, Err(SignInError::Wrong)), "{outcome:?}");
            assert_eq!(accounts.password_checks(), 1);
            let signed_in = accounts.sign_in("ada", "another horse".into(), IpAddr::from(Ipv4Addr::LOCALHOST)).await;
            assert_eq!(signed_in.unwrap(), id);
        }
    }
}
