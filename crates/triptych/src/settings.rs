//! Settings: the defaults, then `triptych.toml`, then `TRIPTYCH_…` variables, then flags. An unknown key is refused.

mod address;
mod database;
mod demo;
mod explain;
mod flags;
mod log_filter;
mod tls;
mod today;
mod traces;
mod variables;

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::LazyLock,
    time::Duration,
};

use address::check_address;
pub(crate) use address::is_local;
use db::Location;
use figment::{
    Figment,
    providers::{Format, Serialized, Toml},
};
pub(crate) use flags::{Flags, OauthSection, ServiceSection};
use ipnet::IpNet;
use jiff::SignedDuration;
use serde::{Deserialize, Serialize};
use service::{Description, HIDDEN, Service};
use today::Today;
use traces::Traces;
pub(crate) use variables::ControlVariables;
use web::{ConnectionLimits, RequestLimits};

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
    database_replica: String,
    pub(crate) database_workers: bool,
    /// The URL that the two above result in.
    #[serde(skip)]
    url: String,
    pub(crate) secret: String,
    pub(crate) demo: Demo,
    today: Today,
    #[serde(deserialize_with = "service::listen")]
    pub(crate) admin_listen: SocketAddr,
    #[serde(deserialize_with = "service::networks")]
    pub(crate) trusted_proxies: Vec<IpNet>,
    tls_certificate: PathBuf,
    tls_key: PathBuf,
    pub(crate) log: String,
    pub(crate) log_format: LogFormat,
    pub(crate) limits: Limits,
    pub(crate) sandboxes: Sandboxes,
    pub(crate) retention: Retention,
    pub(crate) traces: Traces,
    petstore: petstore::Settings,
    train: train::Settings,
    museum: museum::Settings,
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
    requests: usize,
    latency_ms: u64,
    header_seconds: u64,
    body_bytes: usize,
    body_memory_bytes: usize,
    body_seconds: u64,
    anonymous_calls_per_hour: u32,
    stall_seconds: u64,
    pub(crate) drain_seconds: u64,
    grace_seconds: u64,
    database_queue: usize,
    database_connections: usize,
    database_seconds: u64,
    database_start_seconds: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sandboxes {
    pub(crate) enabled: bool,
    most: u32,
    per_address: u32,
    open: usize,
    lifetime_hours: u32,
    idle_seconds: u32,
    snapshot_bytes: u64,
    journal: bool,
}

/// For how many days data is kept, by its name in `triptych prune`. 0 keeps it without an end.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Retention(BTreeMap<String, u32>);

impl Retention {
    /// For how many days this is kept; `None` if it is never deleted.
    pub(crate) fn days(&self, name: &str) -> Option<u32> {
        self.0.get(name).copied().filter(|days| *days > 0)
    }
}

/// The minimum length of the installation secret in characters.
const SHORTEST_SECRET: usize = 32;

/// A setting that cannot be used: one line for the operator.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct SettingsError(String);

impl Settings {
    /// The services, in their order. Nothing else in the program names one of them.
    pub(crate) fn services(&self) -> [&dyn Service; 3] {
        [&self.petstore, &self.train, &self.museum]
    }

    /// The service of this name, which the command line has checked.
    pub(crate) fn service(&self, name: &str) -> Result<&dyn Service, SettingsError> {
        let found = self.services().into_iter().find(|service| service.description().name == name);
        found.ok_or_else(|| SettingsError(format!("there is no service {name:?}")))
    }

    /// The default settings. The command line asks for them for each of its arguments, so they are read once.
    pub(crate) fn defaults() -> &'static Self {
        static SETTINGS: LazyLock<Settings> = LazyLock::new(|| {
            #[expect(clippy::expect_used, reason = "a test reads the same text")]
            Figment::from(Toml::string(DEFAULTS)).extract().expect("the default settings are valid")
        });
        &SETTINGS
    }

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
        let settings = settings.merge(variables::variables(DEFAULTS)).merge(Serialized::defaults(flags));
        let mut settings: Settings =
            settings.extract().map_err(|error| SettingsError(explain::explain(&error, &settings)))?;
        settings.check()?;
        settings.url = database::url(&settings)?;
        database::check_replica(&settings)?;
        database::check_workers(&settings)?;
        Ok(settings)
    }

    fn check(&self) -> Result<(), SettingsError> {
        let limits = &self.limits;
        for (name, value) in [
            ("connections", limits.connections),
            ("requests", limits.requests),
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
        let sandboxes = &self.sandboxes;
        for (name, value) in [
            ("most", sandboxes.most),
            ("per_address", sandboxes.per_address),
            ("open", u32::try_from(sandboxes.open).unwrap_or(u32::MAX)),
            ("lifetime_hours", sandboxes.lifetime_hours),
            ("idle_seconds", sandboxes.idle_seconds),
            ("snapshot_bytes", u32::try_from(sandboxes.snapshot_bytes).unwrap_or(u32::MAX)),
        ] {
            if value == 0 {
                return Err(SettingsError(format!("sandboxes.{name} must be at least 1")));
            }
        }
        let known = |name: &str| {
            let services = self.services();
            services.iter().any(|service| service.description().prunings.iter().any(|one| one.name == name))
        };
        if let Some(unknown) = self.retention.0.keys().find(|name| !known(name)) {
            return Err(SettingsError(format!("there is no setting retention.{unknown}")));
        }
        if limits.body_memory_bytes < limits.body_bytes {
            return Err(SettingsError("limits.body_memory_bytes must be at least limits.body_bytes".into()));
        }
        tls::check(self)?;
        self.traces.collector()?;
        for service in self.services() {
            let name = service.description().name;
            check_address(name, service.address())?;
            service.check().map_err(|error| SettingsError(format!("{name}.{error}")))?;
        }
        if limits.anonymous_calls_per_hour == 0 {
            return Err(SettingsError("limits.anonymous_calls_per_hour must be at least 1".into()));
        }
        if !log_filter::is_log_filter(&self.log) {
            return Err(SettingsError(format!(
                "log is {:?}, but must be error, warn, info, debug, trace or off, or that by part, like warn,museum=debug",
                self.log
            )));
        }
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

    /// The URL of the replica, if there is one.
    pub(crate) fn replica(&self) -> Option<&str> {
        Some(self.database_replica.as_str()).filter(|url| !url.is_empty())
    }

    /// Whether the data is in a folder, for one process, rather than in a database that several may share.
    pub(crate) fn has_own_database(&self) -> bool {
        self.url.is_empty()
    }

    /// Refuses settings with which processes on the same database cannot serve as one: tokens are valid for the public address,
    /// and repeated requests are recognised by the secret. Both must be the same in all processes.
    pub(crate) fn check_shared(&self, service: &dyn Service) -> Result<(), SettingsError> {
        let is_local_demo = self.demo() && self.opened_by().is_none();
        if self.has_own_database() || is_local_demo {
            return Ok(());
        }
        let Description { name, example_address, .. } = service.description();
        if service.needs_address() && service.address().is_empty() {
            return Err(SettingsError(format!(
                "{name}.address must be set, as in {example_address:?}: several processes may share a PostgreSQL database, and \
                 take each other's tokens only under one address"
            )));
        }
        if service.needs_secret() && self.secret.is_empty() {
            return Err(SettingsError(
                "secret must be set, to what openssl rand -hex 32 prints: several processes may share a PostgreSQL \
                 database, and recognise each other's Idempotency-Keys only by one secret"
                    .into(),
            ));
        }
        Ok(())
    }

    /// Where the data is, in words, without the password.
    pub(crate) fn data_location(&self) -> String {
        match self.has_own_database() {
            true => format!("SQLite in {}", self.data.display()),
            false => format!("PostgreSQL at {}", database::without_password(&self.url)),
        }
    }

    /// The settings in effect as a file, without the database's password and other secrets.
    pub(crate) fn to_file(&self) -> String {
        let mut shown = self.clone();
        for url in [&mut shown.database, &mut shown.database_replica] {
            *url = database::without_password(url);
        }
        for secret in [&mut shown.secret, &mut shown.traces.headers] {
            if !secret.is_empty() {
                *secret = HIDDEN.into();
            }
        }
        toml::to_string(&shown).unwrap_or_else(|error| format!("# {error}\n"))
    }
}

impl Sandboxes {
    pub(crate) fn limits(&self) -> sandbox::Limits {
        sandbox::Limits {
            most: self.most,
            per_address: self.per_address,
            open: self.open,
            lifetime: SignedDuration::from_hours(self.lifetime_hours.into()),
            idle: Duration::from_secs(self.idle_seconds.into()),
            snapshot_bytes: self.snapshot_bytes,
            journal: self.journal,
        }
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
            requests: self.requests,
            latency: Duration::from_millis(self.latency_ms),
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
    fn default_file_has_the_defaults_of_the_code() {
        let settings = Settings::defaults();
        assert_eq!(format!("{:?}", settings.petstore), format!("{:?}", petstore::Settings::default()));
        assert_eq!(format!("{:?}", settings.train), format!("{:?}", train::Settings::default()));
        assert_eq!(format!("{:?}", settings.museum), format!("{:?}", museum::Settings::default()));
        let (limits, own) = (settings.limits.connection(), ConnectionLimits::default());
        assert_eq!(format!("{limits:?}"), format!("{own:?}"));
        let (limits, own) = (settings.limits.request(), RequestLimits::default());
        assert_eq!(format!("{limits:?}"), format!("{own:?}"));
        let (limits, own) = (settings.limits.database(), db::Limits::default());
        assert_eq!(format!("{limits:?}"), format!("{own:?}"));
        let (limits, own) = (settings.sandboxes.limits(), sandbox::Limits::default());
        assert_eq!(format!("{limits:?}"), format!("{own:?}"));
    }
}
