//! The tables of this crate, by component. A service migrates those that it uses.

use db::Migrations;

pub const ACCOUNTS: Migrations = model::migrations!("identity");

/// Sessions, clients, grants and keys.
pub const OAUTH: Migrations = model::migrations!("oauth", prefix = "oauth_");

pub const QUOTA: Migrations = model::migrations!("quota", prefix = "quota_");
