//! The settings of the museum.

use std::net::{Ipv4Addr, SocketAddr};

use serde::{Deserialize, Serialize};

/// The settings of the museum: the section `[museum]` of the settings file.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Where it listens.
    #[serde(deserialize_with = "service::listen")]
    pub listen: SocketAddr,
    /// The public address, without a slash at the end; if it is empty, answers name paths only.
    pub address: String,
    /// How many calls an hour an account may make.
    pub calls_per_hour: u32,
    /// The IANA name of the zone the museum is in: `Europe/Amsterdam`.
    pub timezone: String,
    /// Days on which it is closed: `12-25` every year, `2026-04-03` once.
    pub closed_on: Vec<String>,
    /// The hours of each day of the week: `09:00-18:00`, or `closed`.
    pub hours: WeekSettings,
    /// The certificate that signs passes for Apple Wallet.
    pub wallet: WalletSettings,
}

/// The certificate of passes, and the names under which Apple knows it. All are empty if there is none.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WalletSettings {
    /// The file of the certificate, in PEM.
    pub certificate_file: String,
    /// The file of its RSA key, in PEM without a passphrase.
    pub key_file: String,
    /// The file of Apple's intermediate certificate, in PEM.
    pub intermediate_file: String,
    pub pass_type_identifier: String,
    pub team_identifier: String,
}

impl WalletSettings {
    fn all(&self) -> [(&str, &str); 5] {
        [
            ("certificate_file", &self.certificate_file),
            ("key_file", &self.key_file),
            ("intermediate_file", &self.intermediate_file),
            ("pass_type_identifier", &self.pass_type_identifier),
            ("team_identifier", &self.team_identifier),
        ]
    }

    pub(crate) fn is_set(&self) -> bool {
        self.all().iter().any(|(_, value)| !value.is_empty())
    }

    /// Rejects settings of which only some are set.
    pub(crate) fn check(&self) -> Result<(), String> {
        match self.all().iter().find(|(_, value)| value.is_empty()) {
            Some((name, _)) if self.is_set() => {
                Err(format!("wallet.{name} is empty, but a pass needs all settings of [museum.wallet]"))
            }
            _ => Ok(()),
        }
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WeekSettings {
    pub monday: String,
    pub tuesday: String,
    pub wednesday: String,
    pub thursday: String,
    pub friday: String,
    pub saturday: String,
    pub sunday: String,
}

impl Default for Settings {
    fn default() -> Self {
        let usual = || "09:00-18:00".to_owned();
        Settings {
            listen: (Ipv4Addr::LOCALHOST, 8082).into(),
            address: String::new(),
            calls_per_hour: 100_000,
            timezone: "Europe/Amsterdam".into(),
            closed_on: vec!["12-25".into(), "01-01".into()],
            hours: WeekSettings {
                monday: usual(),
                tuesday: usual(),
                wednesday: usual(),
                thursday: usual(),
                friday: "10:00-16:00".into(),
                saturday: usual(),
                sunday: usual(),
            },
            wallet: WalletSettings::default(),
        }
    }
}
