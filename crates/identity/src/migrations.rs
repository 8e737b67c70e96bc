//! The tables of this crate, by component. A service migrates those that it uses.

use db::Migrations;

pub const ACCOUNTS: Migrations = db::migrations!("identity": "0001_accounts");

/// Sessions, clients, grants and keys.
pub const OAUTH: Migrations = db::migrations!("oauth": "oauth_0001_grants", "oauth_0002_bounds");

pub const QUOTA: Migrations = db::migrations!("quota": "quota_0001_calls");
