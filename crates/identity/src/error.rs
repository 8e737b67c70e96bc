//! What can go wrong with accounts.

use crate::{Unfit, password, throttle};

/// Why somebody could not sign in.
#[derive(Debug, thiserror::Error)]
pub enum SignInError {
    #[error("the name or the password is wrong")]
    Wrong,
    #[error("too many wrong passwords; try again in {0} seconds")]
    Wait(u64),
    #[error("too many passwords are being checked")]
    Busy,
    #[error(transparent)]
    Db(#[from] db::Error),
    #[error("{0}")]
    Broken(String),
}

/// Why an account could not be changed.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    #[error("{0}")]
    Unfit(#[from] Unfit),
    #[error("the name is taken")]
    Taken,
    #[error("there is no such account")]
    Unknown,
    #[error("too many passwords are being checked")]
    Busy,
    #[error("too many accounts were made from this address; try again in {0} seconds")]
    Wait(u64),
    #[error(transparent)]
    Db(#[from] db::Error),
    #[error("{0}")]
    Broken(String),
}

impl SignInError {
    /// The same error for one more of those who waited for it.
    pub(crate) fn again(&self) -> Self {
        match self {
            SignInError::Wrong => SignInError::Wrong,
            SignInError::Wait(seconds) => SignInError::Wait(*seconds),
            SignInError::Busy | SignInError::Db(db::Error::Busy) => SignInError::Busy,
            SignInError::Db(db::Error::Unavailable(why)) => {
                SignInError::Db(db::Error::Unavailable(why.clone()))
            }
            other => SignInError::Broken(other.to_string()),
        }
    }
}

impl From<password::Failure> for SignInError {
    fn from(failure: password::Failure) -> Self {
        match failure {
            password::Failure::Busy => SignInError::Busy,
            password::Failure::Broken(cause) => SignInError::Broken(cause),
        }
    }
}

impl From<throttle::Refusal> for ChangeError {
    fn from(refusal: throttle::Refusal) -> Self {
        match refusal {
            throttle::Refusal::Wait(seconds) => ChangeError::Wait(seconds),
            throttle::Refusal::Db(error) => error.into(),
        }
    }
}

impl From<password::Failure> for ChangeError {
    fn from(failure: password::Failure) -> Self {
        match failure {
            password::Failure::Busy => ChangeError::Busy,
            password::Failure::Broken(cause) => ChangeError::Broken(cause),
        }
    }
}
