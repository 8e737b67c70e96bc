//! The authorization server over a real socket, on both engines.

mod after_demo;
mod concurrent_redemption;
mod controls;
mod cross_origin;
mod ended_accounts;
pub(crate) mod fixture;
mod flow;
mod hourly_limits;
mod keys;
mod moved_clock;
mod oauth2_library;
mod pages;
mod rejected_access_tokens;
mod rejected_authorization_requests;
mod rejected_token_requests;
mod row_limits;
mod security_log;
mod sessions;
mod signing_failures;
mod standards;
mod token_management;
