//! The passwords of demos.
//!
//! They are public, and so are their hashes: the first start of a demo does not have to compute them.

use crate::{
    Hashing, account,
    accounts::{Accounts, composed},
    error::ChangeError,
    password::PasswordHash,
};

/// Passwords with their hashes, at the cost of [`Hashing::default`].
const HASHES: [(&str, &str); 4] = [
    (
        "demo",
        "$argon2id$v=19$m=19456,t=2,p=1$kV+qYsHbVuNJ3nZGpPxmHg$X4L8K0uopDawsl1gV+upjmHS+meBeDrcV3dLiI9DY+o",
    ),
    (
        "alice",
        "$argon2id$v=19$m=19456,t=2,p=1$Kajydp0fuPYwjpydDUlymg$GePaJUbHB4EHLncfQZdh78Md42SyGyhguUCs8Mudto0",
    ),
    (
        "12345",
        "$argon2id$v=19$m=19456,t=2,p=1$kPqF2wJoJJLnf/1BQ/pGOw$UhJ9UB4veTfPbeCfJsQ3PcGomyqd/UHbpkAO8dfxOyk",
    ),
    (
        "password",
        "$argon2id$v=19$m=19456,t=2,p=1$Jdw2kT4ndCUh5wTO4kzHbA$fTkP0OFUuj0EQckK6B1OonbTR/YhVmHffVrGImBm/mM",
    ),
];

impl Accounts {
    /// The hash of the password of a demo.
    pub async fn hash_demo(&self, password: &str) -> Result<PasswordHash, ChangeError> {
        let known = HASHES.iter().find(|(known, _)| *known == password);
        match known.filter(|_| self.0.passwords.hashing() == Hashing::default()) {
            Some((_, hash)) => Ok(PasswordHash::stored(hash)),
            None => {
                let password = composed(&password.into());
                account::check_any_password(&password)?;
                self.0.hash(&self.0.passwords.permit_to_set(1)?, password).await
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::hasher::Hasher;

    #[test]
    fn hashes_are_those_of_the_passwords() {
        let hasher = Hasher::new(Hashing::default(), 1).unwrap();
        for (password, hash) in HASHES {
            assert!(hasher.verify(password.as_bytes(), hash).unwrap(), "{password}");
        }
    }
}
