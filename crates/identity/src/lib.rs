//! Authentication: accounts, passwords, HTTP Basic, sessions, API keys, OAuth 2.0, and limits per caller.
//!
//! Each service has its own accounts, in its own database. [`Accounts`] stores them and checks passwords; [`Caller`] is the
//! extractor by which an operation requires HTTP Basic:
//!
//! ```text
//! async fn create(caller: Caller, …) -> Result<Created<SpecialEvent>>
//! ```
//!
//! A password costs argon2 once, not on every request: a success is cached for a few minutes under a keyed hash of name,
//! address, password *and the stored hash*. Every request reads the stored hash, so a changed password or a removed account
//! takes effect at once, in every process. After a try was throttled, the cache is not used: otherwise the response to the
//! next guess would show for free whether it was right.
//!
//! [`oauth`] has the authorization server and the resource server.

pub mod account;
mod accounts;
mod api_key;
mod authorization;
mod basic;
mod demo_password;
mod error;
mod hasher;
mod migrations;
mod new_password;
pub mod oauth;
mod password;
pub mod personal_data;
pub mod quota;
mod secret;
pub mod security;
pub mod session;
mod throttle;

pub use account::AccountError;
pub use accounts::{Accounts, DEMO_USER};
pub use api_key::ApiKeys;
pub use basic::{Caller, unauthorized};
pub use error::{ChangeError, SignInError};
pub use hasher::{Hashing, free_unused_buffers};
/// The tables of accounts, to be migrated with those of the service.
pub use migrations::ACCOUNTS as MIGRATIONS;
pub use new_password::SignUps;
pub use password::PasswordHash;
pub use quota::Quota;
pub use session::Sessions;
