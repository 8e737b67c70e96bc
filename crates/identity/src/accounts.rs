//! The accounts of a service: signing in, adding, changing and removing them.

use std::{sync::Arc, time::Duration};

use db::{Db, Tx, WriteTx};
use hmac::{Hmac, KeyInit, Mac};
use moka::future::Cache;
use secrecy::{ExposeSecret, SecretString};
use sha2::Sha256;
use uuid::Uuid;
use web::{Clock, Controls, Random, SignInMode};

use crate::{
    account::{self, Name},
    error::{ChangeError, SignInError},
    hasher::Hashing,
    password::{PasswordHash, Passwords, Permit},
    security::{Event, Origin, Outcome},
    throttle::{SIGN_UP, Subject, Throttle, ThrottleError, Try},
};

/// How long a successful sign-in is cached, and how many are.
const CACHED_FOR: Duration = Duration::from_secs(300);
const CACHED: u64 = 10_000;

/// The name of the account that calls act as while the controls do not enforce sign-in.
pub const DEMO_USER: &str = "demo";

/// The accounts of a service. Cloning it is cheap.
#[derive(Clone)]
pub struct Accounts(pub(crate) Arc<Inner>, Controls);

pub(crate) struct Inner {
    realm: &'static str,
    demo: bool,
    pub(crate) db: Db,
    clock: Clock,
    random: Random,
    pub(crate) passwords: Passwords,
    pub(crate) throttle: Throttle,
    verified: Cache<[u8; 32], Uuid>,
    /// The accounts and addresses that were throttled since their last success. For these, `verified` is not used.
    throttled: Cache<Subject, ()>,
    key: [u8; 32],
}

impl Accounts {
    /// The accounts in `db`. Demo accounts can sign in only if `demo` is set.
    pub fn new(
        realm: &'static str,
        demo: bool,
        db: Db,
        clock: Clock,
        random: Random,
    ) -> Result<Self, ChangeError> {
        Accounts::with_hashing(realm, demo, db, clock, random, Hashing::default())
    }

    /// The same, with passwords that are hashed in another way.
    pub fn with_hashing(
        realm: &'static str,
        demo: bool,
        db: Db,
        clock: Clock,
        random: Random,
        hashing: Hashing,
    ) -> Result<Self, ChangeError> {
        let passwords = Passwords::new(realm, random.clone(), hashing)?;
        let inner = Inner {
            realm,
            demo,
            throttle: Throttle::new(db.clone(), &clock),
            db,
            clock,
            passwords,
            verified: Cache::builder().max_capacity(CACHED).time_to_live(CACHED_FOR).build(),
            throttled: Cache::builder().max_capacity(CACHED).time_to_live(CACHED_FOR).build(),
            key: random.bytes(),
            random,
        };
        Ok(Accounts(Arc::new(inner), Controls::default()))
    }

    /// The same accounts, with these controls over the sign-in.
    #[must_use]
    pub fn controlled_by(self, controls: Controls) -> Self {
        Accounts(self.0, controls)
    }

    pub(crate) fn controls(&self) -> &Controls {
        &self.1
    }

    /// Which credentials a call needs now.
    pub fn sign_in_mode(&self) -> SignInMode {
        self.1.get().sign_in
    }

    /// The account that calls act as while sign-in is not enforced. If the demo user was removed, this is an account that does not
    /// exist, and owns nothing.
    pub async fn demo_user(&self) -> Result<Uuid, db::Error> {
        let found = account::by_name(&self.0.db, DEMO_USER).await?;
        Ok(found.filter(|account| account.demo).map_or(Uuid::nil(), |account| account.id))
    }

    pub(crate) fn realm(&self) -> &'static str {
        self.0.realm
    }

    /// How many passwords were hashed to be compared. Every sign-in adds one, also with an unknown name, unless its result was
    /// cached.
    pub fn password_checks(&self) -> u64 {
        self.0.passwords.checks()
    }

    /// The account of this name and password. An unknown name takes as long as a known one.
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
        // No account has such a name or password, so the response time shows nothing about accounts.
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
        let key = inner.cache_key(&[&at, password.expose_secret().as_bytes(), stored.as_bytes()]);
        let throttled = inner.throttled.contains_key(&at);
        if !throttled && let Some(id) = inner.verified.get(&key).await {
            return Ok(id);
        }
        let check = inner.check(tried, password, stored.to_owned(), known.map(|(id, _)| id), &origin);
        if throttled {
            return check.await;
        }
        // Concurrent requests with the same credentials share one check, and count as one try.
        inner.verified.try_get_with(key, check).await.map_err(|error: Arc<SignInError>| error.again())
    }

    /// The account of this name; a demo account only in a demo.
    pub async fn find(&self, name: &str) -> Result<Option<Uuid>, db::Error> {
        let Ok(name) = Name::new(name) else { return Ok(None) };
        let found = account::by_name(&self.0.db, name.as_str()).await?;
        Ok(found.filter(|account| !account.demo || self.0.demo).map(|account| account.id))
    }

    /// The name of an account.
    pub(crate) async fn name(&self, id: Uuid) -> Result<Option<String>, db::Error> {
        let name = move |tx: &mut Tx<'_>| {
            tx.row("SELECT name FROM account WHERE id = $1", &[id.into()], |row| row.get(0))
        };
        self.0.db.read(name).await
    }

    /// Adds an account.
    pub async fn add(&self, name: &str, password: SecretString) -> Result<Uuid, ChangeError> {
        let name = Name::new(name)?;
        let hash = self.hash(&password).await?;
        self.insert(name, hash, false).await?.ok_or(ChangeError::Taken)
    }

    /// Adds an account for a user at this address, unless too many were added from there lately.
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
        // The permit first: a request without one must not be charged.
        let permit = self.0.passwords.permit_to_set(1)?;
        self.0.throttle.charge_address(&SIGN_UP, origin.address()).await.inspect_err(|error| {
            if let ThrottleError::Wait(_) = error {
                origin.log(Event::AccountCreation, Outcome::Throttled, None, None);
            }
        })?;
        let hash = self.0.hash(&permit, password).await?;
        let account = self.insert(name, hash, false).await?.ok_or(ChangeError::Taken)?;
        origin.log(Event::AccountCreation, Outcome::Ok, Some(account), None);
        Ok(account)
    }

    /// Adds an account with a well-known password, unless the name is taken. It is valid in demo mode only.
    pub async fn add_demo(&self, name: &str, password: &str) -> Result<(), ChangeError> {
        let name = Name::new(name)?;
        if account::by_name(&self.0.db, name.as_str()).await?.is_none() {
            let hash = self.hash_demo(password).await?;
            self.insert(name, hash, true).await?;
        }
        Ok(())
    }

    async fn insert(&self, name: Name, hash: PasswordHash, demo: bool) -> Result<Option<Uuid>, db::Error> {
        let now = self.0.clock.now();
        let id = self.0.random.uuid(now);
        let insert = move |tx: &mut WriteTx<'_>| match demo {
            true => account::insert_demo(tx, id, &name, Some(&hash), now),
            false => account::insert(tx, id, &name, Some(&hash), now),
        };
        Ok(self.0.db.write(insert).await?.then_some(id))
    }

    /// Sets an account's password, deletes its sessions and revokes its grants.
    pub async fn set_password(&self, name: &str, password: SecretString) -> Result<(), ChangeError> {
        let hash = self.hash(&password).await?;
        let now = self.0.clock.now();
        self.change(name, move |tx, id| account::set_password(tx, id, &hash, now)).await
    }

    /// Ends all access by an account, before its data is erased: it has no password, no sessions and no valid grants. Gives its id.
    pub async fn close(&self, name: &str) -> Result<Uuid, ChangeError> {
        let Ok(name) = Name::new(name) else { return Err(ChangeError::Unknown) };
        let now = self.0.clock.now();
        let closed = self.0.db.write(move |tx| {
            let id = account::id_of(tx, &name)?;
            id.map(|id| account::close(tx, id, now).map(|()| id)).transpose()
        });
        closed.await?.ok_or(ChangeError::Unknown)
    }

    /// Removes an account, its sessions and its grants.
    pub async fn remove(&self, name: &str) -> Result<(), ChangeError> {
        self.change(name, account::remove).await
    }

    /// The same, with what else a service stores about the account, in one transaction. `also` runs after the transactions that
    /// hold the account's lock, so it finds their rows.
    pub async fn remove_with(
        &self,
        name: &str,
        also: impl Fn(&mut WriteTx<'_>, Uuid) -> Result<(), db::Error> + Send + 'static,
    ) -> Result<(), ChangeError> {
        let remove = move |tx: &mut WriteTx<'_>, id| {
            if !account::lock(tx, id)? {
                return Ok(false);
            }
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
            // The password was not checked.
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
        // The permit first: a try without one must not be charged.
        let permit = self.passwords.permit_to_check()?;
        let at = *tried.account_and_address();
        let charged = match self.throttle.charge(tried).await {
            Ok(charged) => charged,
            Err(ThrottleError::Wait(seconds)) => {
                self.throttled.insert(at, ()).await;
                return Err(SignInError::Wait(seconds));
            }
            Err(ThrottleError::Db(error)) => return Err(error.into()),
        };
        let right = self.passwords.verify(&permit, password, stored.clone()).await?;
        match account.filter(|_| right) {
            Some(id) => {
                self.throttle.succeed(charged).await?;
                // The password may have been changed while this check waited.
                if !account::has_password(&self.db, id, stored).await? {
                    return Err(SignInError::Wrong);
                }
                self.throttled.invalidate(&at).await;
                Ok(id)
            }
            None => Err(SignInError::Wrong),
        }
    }

    pub(crate) async fn hash(
        &self,
        permit: &Permit,
        password: SecretString,
    ) -> Result<PasswordHash, ChangeError> {
        Ok(self.passwords.hash(permit, password).await?)
    }

    fn cache_key(&self, parts: &[&[u8]]) -> [u8; 32] {
        // HMAC accepts a key of any length.
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.key).unwrap_or_else(|_| unreachable!());
        for part in parts {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part);
        }
        mac.finalize().into_bytes().into()
    }
}

pub(crate) fn composed(password: &SecretString) -> SecretString {
    account::composed(password.expose_secret()).into()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use testkit::Store;

    use super::*;
    use crate::migrations::ACCOUNTS;

    testkit::on_both_engines! {
        async fn password_changed_during_its_check_is_rejected(store: Store) {
            let db = store.open("test", &[ACCOUNTS]);
            let clock = Clock::manual("2026-05-13T10:00:00Z".parse().unwrap());
            let accounts = Accounts::new("Test", false, db.clone(), clock.clone(), Random::system()).unwrap();
            let id = accounts.add("ada", "correct horse".into()).await.unwrap();
            let hash = accounts.hash(&"another horse".into()).await.unwrap();
            let now = clock.now();
            let turns = accounts.0.passwords.all_checks().await;
            let waiting = tokio::spawn({
                let accounts = accounts.clone();
                async move { accounts.sign_in("ada", "correct horse".into(), IpAddr::from(Ipv4Addr::LOCALHOST)).await }
            });
            accounts.0.passwords.wait_for_queued_check().await;
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
