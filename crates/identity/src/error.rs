//! The errors of accounts.

use crate::{account::AccountError, hasher::HashError, throttle::ThrottleError};

/// Why sign-in failed.
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
    Invalid(#[from] AccountError),
    #[error("the name is taken")]
    Taken,
    #[error("this name is reserved; choose another one")]
    Reserved,
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
    /// The same error for another request that waited for it.
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

impl From<HashError> for SignInError {
    fn from(failure: HashError) -> Self {
        match failure {
            HashError::Busy => SignInError::Busy,
            HashError::Broken(cause) => SignInError::Broken(cause),
        }
    }
}

impl From<ThrottleError> for ChangeError {
    fn from(error: ThrottleError) -> Self {
        match error {
            ThrottleError::Wait(seconds) => ChangeError::Wait(seconds),
            ThrottleError::Db(error) => error.into(),
        }
    }
}

impl From<HashError> for ChangeError {
    fn from(failure: HashError) -> Self {
        match failure {
            HashError::Busy => ChangeError::Busy,
            HashError::Broken(cause) => ChangeError::Broken(cause),
        }
    }
}
