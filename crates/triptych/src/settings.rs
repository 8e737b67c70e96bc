//! Settings: the defaults, then `triptych.toml`, then `TRIPTYCH_…` variables, then flags. An unknown key is refused.

mod address;
mod database;
mod demo;
mod explain;
mod parse;
mod variables;

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

pub(crate) use address::address;
use address::check_address;
use db::Location;
use figment::{
    Figment,
    providers::{Format, Serialized, Toml},
};
use identity::oauth::ExternalIssuerSettings;
use ipnet::IpNet;
use jiff::SignedDuration;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use web::{ConnectionLimits, InstallationSecret, RequestLimits};

use crate::cli::Flags;

/// The defaults, as a file that a person can read and copy from.
const DEFAULTS: &str = include_str!("default.toml");

/// The file that is read if it is there.
const FILE: &str = "triptych.toml";

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    pub(crate) data: PathBuf,
    database: String,
    database_file: PathBuf,
    /// What the two before come to.
    #[serde(skip)]
    url: String,
    pub(crate) secret: String,
    pub(crate) demo: Demo,
    #[serde(deserialize_with = "parse::listen")]
    pub(crate) admin_listen: SocketAddr,
    #[serde(deserialize_with = "parse::networks")]
    pub(crate) trusted_proxies: Vec<IpNet>,
    pub(crate) log: String,
    pub(crate) log_format: LogFormat,
    pub(crate) limits: Limits,
    pub(crate) petstore: Petstore,
    pub(crate) train: Train,
    pub(crate) museum: Museum,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Demo {
    Auto,
    On,
    Off,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogFormat {
    Auto,
    Text,
    Json,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Limits {
    connections: usize,
    connections_per_address: usize,
    header_seconds: u64,
    body_bytes: usize,
    body_memory_bytes: usize,
    body_seconds: u64,
    anonymous_calls_per_hour: u32,
    stall_seconds: u64,
    grace_seconds: u64,
    database_queue: usize,
    database_connections: usize,
    database_seconds: u64,
    database_start_seconds: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Petstore {
    #[serde(deserialize_with = "parse::listen")]
    pub(crate) listen: SocketAddr,
    pub(crate) address: String,
    calls_per_hour: u32,
    open_sign_up: bool,
    sign_ups_per_hour: u32,
    pub(crate) oauth: Oauth,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Train {
    #[serde(deserialize_with = "parse::listen")]
    pub(crate) listen: SocketAddr,
    pub(crate) address: String,
    calls_per_hour: u32,
    hold_seconds: u32,
    unpaid_holds: u32,
    declined_payments_per_hour: u32,
    declined_payments_per_user_per_hour: u32,
    test_events_per_hour: u32,
    #[serde(deserialize_with = "parse::networks")]
    webhook_networks: Vec<IpNet>,
    pub(crate) oauth: Oauth,
}

impl Train {
    /// How long a seat is held until it is paid for.
    fn hold(&self) -> SignedDuration {
        SignedDuration::from_secs(self.hold_seconds.into())
    }

    fn limits(&self) -> train::Limits {
        train::Limits {
            unpaid_holds: self.unpaid_holds,
            declined_payments_per_hour: self.declined_payments_per_hour,
            declined_payments_per_user_per_hour: self.declined_payments_per_user_per_hour,
            test_events_per_hour: self.test_events_per_hour,
        }
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Oauth {
    pub(crate) issuer: String,
    audience: String,
    types: Vec<String>,
    scope_claim: String,
    registration_token: String,
}

impl Oauth {
    /// The issuer elsewhere, if there is one.
    fn elsewhere(&self) -> Option<ExternalIssuerSettings> {
        let Oauth { issuer, audience, types, scope_claim, .. } = self.clone();
        (!issuer.is_empty()).then_some(ExternalIssuerSettings { url: issuer, audience, types, scope_claim })
    }

    fn registration_token(&self) -> Option<SecretString> {
        Some(&self.registration_token).filter(|token| !token.is_empty()).map(|token| token.as_str().into())
    }

    /// As it can be shown.
    fn without_token(&self) -> Self {
        let shown = if self.registration_token.is_empty() { "" } else { HIDDEN };
        Oauth { registration_token: shown.into(), ..self.clone() }
    }
}

/// How many characters the installation's secret has at the least.
const SHORTEST_SECRET: usize = 32;

/// What is shown in place of a secret.
pub(crate) const HIDDEN: &str = "(hidden)";

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Museum {
    #[serde(deserialize_with = "parse::listen")]
    pub(crate) listen: SocketAddr,
    pub(crate) address: String,
    calls_per_hour: u32,
    timezone: String,
    closed_on: Vec<String>,
    hours: museum::WeekSettings,
}

/// A setting that cannot be used: one line for the operator.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct SettingsError(String);

impl Settings {
    pub(crate) fn read(flags: &Flags) -> Result<Self, SettingsError> {
        let default = Path::new(FILE);
        let file = match flags.config.as_deref() {
            Some(missing) if !missing.is_file() => {
                return Err(SettingsError(format!("there is no settings file {}", missing.display())));
            }
            None => Some(default).filter(|file| file.is_file()),
            given => given,
        };
        let mut settings = Figment::from(Toml::string(DEFAULTS));
        if let Some(file) = file {
            explain::check_toml(file)?;
            settings = settings.merge(Toml::file_exact(file));
        }
        let settings = settings.merge(variables::variables()).merge(Serialized::defaults(flags));
        let mut settings: Settings =
            settings.extract().map_err(|error| SettingsError(explain::explain(&error, &settings)))?;
        settings.check()?;
        settings.url = database::url(&settings)?;
        Ok(settings)
    }

    fn check(&self) -> Result<(), SettingsError> {
        let limits = &self.limits;
        for (name, value) in [
            ("connections", limits.connections),
            ("body_bytes", limits.body_bytes),
            ("database_queue", limits.database_queue),
            ("database_connections", limits.database_connections),
        ] {
            if value == 0 {
                return Err(SettingsError(format!("limits.{name} must be at least 1")));
            }
        }
        for (name, value) in [
            ("header_seconds", limits.header_seconds),
            ("body_seconds", limits.body_seconds),
            ("stall_seconds", limits.stall_seconds),
            ("database_seconds", limits.database_seconds),
        ] {
            if value == 0 {
                return Err(SettingsError(format!("limits.{name} must be at least 1")));
            }
        }
        if limits.body_memory_bytes < limits.body_bytes {
            return Err(SettingsError("limits.body_memory_bytes must be at least limits.body_bytes".into()));
        }
        check_address("petstore", &self.petstore.address)?;
        check_address("train", &self.train.address)?;
        check_address("museum", &self.museum.address)?;
        for (name, value) in [
            ("petstore.calls_per_hour", self.petstore.calls_per_hour),
            ("petstore.sign_ups_per_hour", self.petstore.sign_ups_per_hour),
            ("train.calls_per_hour", self.train.calls_per_hour),
            ("museum.calls_per_hour", self.museum.calls_per_hour),
            ("limits.anonymous_calls_per_hour", self.limits.anonymous_calls_per_hour),
            ("train.hold_seconds", self.train.hold_seconds),
            ("train.unpaid_holds", self.train.unpaid_holds),
            ("train.declined_payments_per_hour", self.train.declined_payments_per_hour),
            ("train.declined_payments_per_user_per_hour", self.train.declined_payments_per_user_per_hour),
            ("train.test_events_per_hour", self.train.test_events_per_hour),
        ] {
            if value == 0 {
                return Err(SettingsError(format!("{name} must be at least 1")));
            }
        }
        if !parse::is_log_filter(&self.log) {
            return Err(SettingsError(format!(
                "log is {:?}, but must be error, warn, info, debug, trace or off, or that by part, like warn,museum=debug",
                self.log
            )));
        }
        self.museum().check().map_err(|error| SettingsError(error.to_string()))?;
        if !self.secret.is_empty() && self.secret.len() < SHORTEST_SECRET {
            return Err(SettingsError(format!(
                "secret must have at least {SHORTEST_SECRET} characters, like what openssl rand -hex 32 prints"
            )));
        }
        Ok(())
    }

    pub(crate) fn location(&self) -> Location {
        match self.has_own_database() {
            true => Location::Sqlite(self.data.clone()),
            false => Location::Postgres(self.url.clone()),
        }
    }

    /// Whether the data is in a folder, for one process, rather than in a database that several may share.
    pub(crate) fn has_own_database(&self) -> bool {
        self.url.is_empty()
    }

    /// What keeps processes on the same database from serving as one, if anything does: where a token is valid is the
    /// service's address, and repeated requests are recognised by the secret. Neither may be each process's own.
    pub(crate) fn check_shared(&self, service: &str) -> Result<(), SettingsError> {
        let (address, oauth, example) = match service {
            "petstore" => (&self.petstore.address, &self.petstore.oauth, "https://pets.example.com"),
            "train" => (&self.train.address, &self.train.oauth, "https://trains.example.com"),
            _ => return Ok(()),
        };
        let demo_here = self.demo() && self.opened_by().is_none();
        if self.has_own_database() || demo_here {
            return Ok(());
        }
        // An external issuer's tokens are for the address too, unless an audience is set. Webhooks of the train service carry
        // tokens of its own in any case.
        let by_issuer = service == "petstore" && !oauth.issuer.is_empty() && !oauth.audience.is_empty();
        if address.is_empty() && !by_issuer {
            return Err(SettingsError(format!(
                "{service}.address must be set, as in {example:?}: several processes may share a PostgreSQL database, and \
                 take each other's tokens only under one address"
            )));
        }
        if service == "train" && self.secret.is_empty() {
            return Err(SettingsError(
                "secret must be set, to what openssl rand -hex 32 prints: several processes may share a PostgreSQL \
                 database, and recognise each other's Idempotency-Keys only by one secret"
                    .into(),
            ));
        }
        Ok(())
    }

    /// Where the data is, in words, without the password.
    pub(crate) fn place(&self) -> String {
        match self.has_own_database() {
            true => format!("SQLite in {}", self.data.display()),
            false => format!("PostgreSQL at {}", database::without_password(&self.url)),
        }
    }

    /// What the pet store is to know when it listens here.
    pub(crate) fn petstore(&self, listening: SocketAddr) -> petstore::Settings {
        let Petstore { address: said, calls_per_hour, open_sign_up, sign_ups_per_hour, oauth, .. } =
            &self.petstore;
        petstore::Settings {
            address: address(said, listening),
            issuer: oauth.elsewhere(),
            registration_token: oauth.registration_token(),
            calls_per_hour: *calls_per_hour,
            open_sign_up: *open_sign_up,
            sign_ups_per_hour: *sign_ups_per_hour,
            demo: self.demo(),
        }
    }

    /// What the train service is to know when it listens here.
    pub(crate) fn train(&self, listening: SocketAddr) -> train::Settings {
        let Train { address: said, calls_per_hour, webhook_networks, oauth, .. } = &self.train;
        train::Settings {
            address: address(said, listening),
            issuer: oauth.elsewhere(),
            registration_token: oauth.registration_token(),
            calls_per_hour: *calls_per_hour,
            hold: self.train.hold(),
            limits: self.train.limits(),
            // Whoever serves reads it from its file if this is empty.
            secret: InstallationSecret::new(self.secret.as_bytes()),
            webhook_networks: webhook_networks.clone(),
            // Stricter than the demo, which can be asked for beyond this machine: whoever subscribes has the service call its
            // own ports.
            webhooks_to_this_machine: self.demo() && self.opened_by().is_none(),
            demo: self.demo(),
        }
    }

    pub(crate) fn museum(&self) -> museum::Settings {
        let Museum { address, calls_per_hour, timezone, closed_on, hours, .. } = self.museum.clone();
        museum::Settings { address, calls_per_hour, timezone, closed_on, hours }
    }

    /// The settings in force as a file, without the database's password and other secrets.
    pub(crate) fn to_file(&self) -> String {
        let mut shown = Settings { database: database::without_password(&self.database), ..self.clone() };
        shown.secret = if self.secret.is_empty() { String::new() } else { HIDDEN.into() };
        shown.petstore.oauth = self.petstore.oauth.without_token();
        shown.train.oauth = self.train.oauth.without_token();
        toml::to_string(&shown).unwrap_or_else(|error| format!("# {error}\n"))
    }
}

impl Limits {
    pub(crate) fn connection(&self) -> ConnectionLimits {
        ConnectionLimits {
            connections: self.connections,
            connections_per_address: match self.connections_per_address {
                0 => (self.connections / 8).max(1),
                set => set,
            },
            loopback_exempt: true,
            header_time: Duration::from_secs(self.header_seconds),
            stall_time: Duration::from_secs(self.stall_seconds),
            grace_time: Duration::from_secs(self.grace_seconds),
        }
    }

    pub(crate) fn request(&self) -> RequestLimits {
        RequestLimits {
            body_bytes: self.body_bytes,
            memory_bytes: self.body_memory_bytes,
            body_time: Duration::from_secs(self.body_seconds),
            anonymous_calls_per_hour: self.anonymous_calls_per_hour,
        }
    }

    pub(crate) fn database(&self) -> db::Limits {
        db::Limits {
            queue: self.database_queue,
            connections: self.database_connections,
            wait: Duration::from_secs(self.database_seconds),
            start: Duration::from_secs(self.database_start_seconds),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_file_is_the_museums_own_default() {
        let settings = Figment::from(Toml::string(DEFAULTS)).extract::<Settings>().unwrap();
        let own = museum::Settings::default();
        assert_eq!(format!("{:?}", settings.museum()), format!("{own:?}"));
        assert_eq!(settings.train.limits(), train::Limits::default());
        let (limits, own) = (settings.limits.connection(), ConnectionLimits::default());
        assert_eq!(format!("{limits:?}"), format!("{own:?}"));
        let (limits, own) = (settings.limits.request(), RequestLimits::default());
        assert_eq!(format!("{limits:?}"), format!("{own:?}"));
        let (limits, own) = (settings.limits.database(), db::Limits::default());
        assert_eq!(format!("{limits:?}"), format!("{own:?}"));
    }
}
