//! Hashes new passwords, to be stored by the functions in [`account`].

use std::net::IpAddr;

use secrecy::SecretString;
use uuid::Uuid;

use crate::{
    account,
    accounts::{Accounts, composed},
    error::ChangeError,
    password::PasswordHash,
    throttle::Meter,
};

/// An address that adds accounts, and how many it may add in an hour.
#[derive(Debug, Clone, Copy)]
pub struct SignUps {
    pub address: IpAddr,
    pub per_hour: u32,
}

impl Accounts {
    /// Hashes a new password.
    pub async fn hash(&self, password: &SecretString) -> Result<PasswordHash, ChangeError> {
        let password = composed(password);
        account::check_password(&password)?;
        self.0.hash(&self.0.passwords.permit_to_set(1)?, password).await
    }

    /// Hashes a new password of an account that has one; `None` if it is the same. Any password that is not empty is valid.
    pub async fn hash_if_new(
        &self,
        account: Uuid,
        password: &SecretString,
    ) -> Result<Option<PasswordHash>, ChangeError> {
        let password = composed(password);
        account::check_any_password(&password)?;
        // Two hashes: one to compare, one to store.
        let permit = self.0.passwords.permit_to_set(2)?;
        if let Some(stored) = account::password_of(&self.0.db, account).await?
            && self.0.passwords.verify(&permit, password.clone(), stored).await?
        {
            return Ok(None);
        }
        self.0.hash(&permit, password).await.map(Some)
    }

    /// Hashes several passwords, one after the other, with one permit for all. If accounts are counted, an address that added too
    /// many lately has to wait.
    pub async fn hash_all(
        &self,
        passwords: Vec<Option<SecretString>>,
        counted: Option<SignUps>,
    ) -> Result<Vec<Option<PasswordHash>>, ChangeError> {
        // The permit first: a request without one must not be charged.
        let permit = match passwords.iter().flatten().count() {
            0 => None,
            count => Some(self.0.passwords.permit_to_set(count)?),
        };
        if let Some(SignUps { address, per_hour }) = counted {
            let count = passwords.len().try_into().unwrap_or(i64::MAX);
            self.0.throttle.charge_address_by(&Meter::sign_ups(per_hour), address, count).await?;
        }
        let mut hashes = Vec::with_capacity(passwords.len());
        for password in passwords {
            hashes.push(match (password, &permit) {
                (Some(password), Some(permit)) => {
                    let password = composed(&password);
                    account::check_any_password(&password)?;
                    Some(self.0.hash(permit, password).await?)
                }
                _ => None,
            });
        }
        Ok(hashes)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::net::Ipv4Addr;

    use testkit::Store;
    use web::{Clock, Random};

    use super::*;
    use crate::{error::SignInError, migrations::ACCOUNTS};

    fn accounts(store: &Store) -> Accounts {
        let clock = Clock::manual("2026-05-13T10:00:00Z".parse().unwrap());
        Accounts::new("Test", false, store.open("test", &[ACCOUNTS]), clock, Random::system()).unwrap()
    }

    fn list(count: usize) -> Vec<Option<SecretString>> {
        (0..count).map(|at| Some(format!("password {at}").into())).collect()
    }

    testkit::on_both_engines! {
        async fn sign_in_works_while_the_queue_of_new_passwords_is_full(store: Store) {
            let accounts = accounts(&store);
            let id = accounts.add("ada", "correct horse".into()).await.unwrap();
            // Every permit is taken, and none of the work is done.
            let _turns = accounts.0.passwords.all_changes().await;
            let _permits = accounts.0.passwords.free_permits_to_set();
            let refused = accounts.hash(&"another horse".into()).await;
            assert!(matches!(refused, Err(ChangeError::Busy)), "{refused:?}");
            let address = IpAddr::from(Ipv4Addr::LOCALHOST);
            let signed_in = accounts.sign_in("ada", "correct horse".into(), address).await;
            assert_eq!(signed_in.unwrap(), id);
            let wrong = accounts.sign_in("ada", "wrong horse".into(), address).await;
            assert!(matches!(wrong, Err(SignInError::Wrong)), "{wrong:?}");
        }

        async fn list_takes_a_permit_for_each_password(store: Store) {
            let accounts = accounts(&store);
            let turns = accounts.0.passwords.all_changes().await;
            let waiting = tokio::spawn({
                let accounts = accounts.clone();
                async move { accounts.hash_all(list(50), None).await }
            });
            accounts.0.passwords.wait_for_queued_change().await;
            // More than the queue has left is refused at once, and takes nothing from it.
            let refused = accounts.hash_all(list(79), None).await;
            assert!(matches!(refused, Err(ChangeError::Busy)), "{refused:?}");
            let permits = accounts.0.passwords.free_permits_to_set();
            assert_eq!(permits.len(), 78);
            let refused = accounts.hash_all(list(1), None).await;
            assert!(matches!(refused, Err(ChangeError::Busy)), "{refused:?}");
            // Users without a password need no permit.
            assert_eq!(accounts.hash_all(vec![None, None], None).await.unwrap().len(), 2);
            waiting.abort();
            assert!(waiting.await.unwrap_err().is_cancelled());
            drop((turns, permits));
            assert_eq!(accounts.0.passwords.free_permits_to_set().len(), 128);
            let mixed = vec![Some("first".into()), None, Some("second".into())];
            let hashes = accounts.hash_all(mixed, None).await.unwrap();
            assert_eq!(hashes.iter().map(Option::is_some).collect::<Vec<_>>(), [true, false, true]);
        }
    }
}
